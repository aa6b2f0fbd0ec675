"""Registers the application."""

from django.apps import AppConfig


class BenchmarksConfig(AppConfig):
    name = "apps.benchmarks"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from apps.benchmarks import live_topics

        live_topics.register()
