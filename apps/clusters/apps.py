"""Registers the application."""

from django.apps import AppConfig


class ClustersConfig(AppConfig):
    name = "apps.clusters"
    default_auto_field = "django.db.models.BigAutoField"
