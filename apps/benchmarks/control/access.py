"""The opt-in of a cluster to be put under load: who may sign in where, and how hard it may be."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from apps.accounts import audit
from apps.accounts.access import Caller
from apps.accounts.roles import Role
from apps.benchmarks.models import BenchmarkAccess
from apps.clusters.models import Cluster

MOST_CLIENTS = 10_000
LONGEST_DURATION_S = 7 * 86_400
QUEUE = r"^bench(-[a-z0-9-]{1,50})?\Z"
QUEUE_EXPECTED = "must be bench, or bench- and a name in small letters, as bench-eu-1a"
FIELDS = (
    "is_on",
    "database",
    "username",
    "most_clients",
    "most_duration_s",
    "most_lag_s",
    "most_failed_share",
    "queue",
)


class AccessRefused(ValueError):
    """Nothing was stored. field: as REST names it."""

    def __init__(self, field: str, expected: str) -> None:
        super().__init__(f"{field}: {expected}")
        self.field = field
        self.expected = expected


def change(*, caller: Caller, cluster: Cluster, changes: dict[str, Any]) -> BenchmarkAccess:
    """changes: of FIELDS and password, whole the first time. Raises AccessRefused."""
    caller.require(Role.ADMIN)
    with transaction.atomic():
        Cluster.objects.select_for_update(no_key=True).get(pk=cluster.pk)
        access = BenchmarkAccess.objects.filter(cluster=cluster).first()
        before = None if access is None else described(access)
        if access is None:
            missing = [name for name in ("database", "username", "password") if not changes.get(name)]
            if missing:
                raise AccessRefused(missing[0], "is needed the first time")
            access = BenchmarkAccess(cluster=cluster)
        elif "username" in changes and changes["username"] != access.username and not changes.get("password"):
            raise AccessRefused("password", "is needed with another username")
        for name, value in changes.items():
            setattr(access, name, value)
        access.save()
        audit.record(
            caller=caller,
            action="benchmarks.access.change",
            target_type="cluster",
            target_id=cluster.pk,
            target_name=cluster.slug,
            before=before,
            after={**described(access), "password_changed": "password" in changes},
        )
    return access


def described(access: BenchmarkAccess) -> dict[str, Any]:
    """Without the password."""
    return {name: getattr(access, name) for name in FIELDS}
