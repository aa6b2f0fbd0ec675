"""manage.py create_member, create_token, sign_in_link, rotate_encryption; create_demo, for the demo."""
