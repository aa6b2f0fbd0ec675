"""Registers the application."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "apps.accounts"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from apps.accounts import own_changes, schema  # noqa: F401  both register themselves by being loaded
