"""Celery doors of accounts."""

from celery import shared_task
from django.contrib.sessions.backends.db import SessionStore


@shared_task(name="accounts.forget_sessions")
def forget_sessions() -> None:
    """Every sign-in makes a session, and Django itself never removes one that ran out."""
    SessionStore.clear_expired()
