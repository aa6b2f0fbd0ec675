"""Pgpools that did not answer the latest look, in words for whoever is about to roll something out."""

from collections.abc import Mapping

from apps.clusters.models import Cluster, InstanceLatest

_SAID: Mapping[str, str] = {
    InstanceLatest.State.HANGING: "hangs",
    InstanceLatest.State.UNREACHABLE: "does not answer",
    InstanceLatest.State.REFUSED: "lets Lifeguard open no session",
}


def unanswered(*, cluster: Cluster) -> list[str]:
    """A sentence of each: pgpool-2 does not answer since 2026-11-22 21:14 UTC: connection refused."""
    rows = InstanceLatest.objects.filter(instance__cluster=cluster, state__in=_SAID).select_related("instance")
    return [_sentence(row) for row in rows.order_by("instance__name")]


def _sentence(row: InstanceLatest) -> str:
    since = f"{row.instance.name} {_SAID[row.state]} since {row.state_since:%Y-%m-%d %H:%M} UTC"
    return f"{since}: {row.reason.rstrip('.')}." if row.reason else f"{since}."
