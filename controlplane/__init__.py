"""The project: settings, addresses, the Celery application. It mounts everything and decides nothing."""

from controlplane.celery import app as celery_app

__all__ = ["__version__", "celery_app"]

__version__ = "0.1.0"
