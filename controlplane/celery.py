"""The Celery application: queues, and what beat starts. Rows hold the work; a task only moves it on."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings")

app = Celery("lifeguard")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
