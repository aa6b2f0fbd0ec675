"""Registers the application."""

from django.apps import AppConfig


class QueryCacheConfig(AppConfig):
    name = "apps.query_cache"
    default_auto_field = "django.db.models.BigAutoField"
