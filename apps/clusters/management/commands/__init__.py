"""manage.py register_cluster."""
