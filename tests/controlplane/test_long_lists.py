"""Lists that only ever grow: the newest rows of a quiet owner are found without going through those of a busy one."""

from collections.abc import Callable

import pytest
from django.db import connection
from django.http import QueryDict
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.accounts.access import Caller
from apps.accounts.models import AuditEntry, Organisation
from apps.accounts.paging import page_of
from apps.accounts.queries import audit_trail
from apps.clusters.models import ClusterEvent
from apps.clusters.queries.overview import events
from tests.clusters.seen_cluster import register

pytestmark = pytest.mark.django_db

MANY = 5000


def plan_of(ask: Callable[[], object]) -> str:
    """How PostgreSQL would answer the one statement that `ask` sends."""
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE accounts_auditentry, clusters_clusterevent")
    with CaptureQueriesContext(connection) as captured:
        ask()
    [asked] = captured.captured_queries
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {asked['sql']}")
        return "\n".join(line for (line,) in cursor.fetchall())


def test_events_of_a_quiet_cluster_come_from_their_index(organisation: Organisation) -> None:
    quiet, busy = register(organisation, "quiet"), register(organisation, "busy")
    ClusterEvent.objects.bulk_create(
        ClusterEvent(cluster=quiet if number % 100 == 0 else busy, at=timezone.now(), kind="restart", title="restarted")
        for number in range(MANY)
    )

    assert "event_newest_first" in plan_of(lambda: events(cluster=quiet, before=None, limit=8))


def test_the_audit_trail_of_a_quiet_organisation_comes_from_its_index(
    caller: Callable[..., Caller], organisation: Organisation, other_organisation: Organisation
) -> None:
    quiet = caller("admin")
    AuditEntry.objects.bulk_create(
        AuditEntry(
            organisation=organisation if number % 100 == 0 else other_organisation,
            actor_name="kim",
            action="token.created",
            target_type="token",
            target_id="1",
            target_name="ci",
        )
        for number in range(MANY)
    )

    rows = audit_trail(caller=quiet, action="", target="")

    assert "audit_newest_first" in plan_of(lambda: page_of(rows, query=QueryDict(), size=8))
