"""Registers the application."""

from django.apps import AppConfig


class BenchmarksConfig(AppConfig):
    name = "apps.benchmarks"
