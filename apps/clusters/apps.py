"""Registers the application."""

from django.apps import AppConfig
from django.core import checks


class ClustersConfig(AppConfig):
    name = "apps.clusters"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from apps.clusters import live_topics
        from apps.clusters.checks import own_database_is_not_behind_pgpool

        checks.register(own_database_is_not_behind_pgpool, checks.Tags.database)
        live_topics.register()
