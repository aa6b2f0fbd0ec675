"""Registers the application."""

from django.apps import AppConfig


class LiveConfig(AppConfig):
    name = "apps.live"
    default_auto_field = "django.db.models.BigAutoField"
