"""Lifeguard's own database is asked whether it is a Pgpool-II in disguise."""

import pytest
from django.core.checks import run_checks

from apps.clusters.checks import BEHIND_PGPOOL


@pytest.mark.django_db
def test_a_plain_postgresql_is_fine() -> None:
    found = run_checks(tags=["database"], databases=["default"])

    assert [message for message in found if message.id == BEHIND_PGPOOL] == []
