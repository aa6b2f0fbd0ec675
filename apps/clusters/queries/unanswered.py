"""Pgpools of which no session was had at the latest look, in words for whoever is about to roll something out."""

from collections.abc import Mapping, Sequence

from apps.clusters.models import Cluster, InstanceLatest

_SILENT: Mapping[str, str] = {
    InstanceLatest.State.HANGING: "hangs",
    InstanceLatest.State.UNREACHABLE: "does not answer",
}
_REFUSED: Mapping[str, str] = {InstanceLatest.State.REFUSED: "lets Lifeguard open no session"}
_SAID = {**_SILENT, **_REFUSED}

# What becomes of a rollout then. One that turns Lifeguard away is there, so it can owe nothing.
_WITHOUT_SILENT = (
    "Nothing is rolled out without it, unless the plan says under “A pgpool that cannot be reached” that it owes the "
    "change."
)
_WITHOUT_REFUSED = "It is there, so it cannot owe the change: nothing is rolled out before that is mended."
# Of a way back and of an adoption, which go on past a pgpool that fails.
_PAST_SILENT = (
    "It fails there, and the others go on, unless the plan says under “A pgpool that cannot be reached” that it owes "
    "it."
)
_PAST_REFUSED = (
    "It is there, so it cannot owe it: nothing can be read back from it, so it fails there, and the others go on."
)


def unanswered(*, cluster: Cluster) -> list[str]:
    """A sentence of each, before a change: pgpool-2 does not answer since 2026-11-22 21:14 UTC: connection refused."""
    return [
        f"{_sentence(row)} {_WITHOUT_REFUSED}" if row.state in _REFUSED else _sentence(row) for row in _rows(cluster)
    ]


def outlook(*, cluster: Cluster, goes_past_failures: bool = False, names: Sequence[str] | None = None) -> list[str]:
    """The same with what becomes of a rollout: those that are silent in one text, those that refuse in another.

    goes_past_failures: of a way back or an adoption. names: the pgpools that it takes, None for all.
    """
    rows = [row for row in _rows(cluster) if names is None or row.instance.name in names]
    silent = _PAST_SILENT if goes_past_failures else _WITHOUT_SILENT
    refused = _PAST_REFUSED if goes_past_failures else _WITHOUT_REFUSED
    found = []
    for states, way in ((_SILENT, silent), (_REFUSED, refused)):
        sentences = [_sentence(row) for row in rows if row.state in states]
        if sentences:
            found.append(" ".join([*sentences, way]))
    return found


def _rows(cluster: Cluster) -> list[InstanceLatest]:
    rows = InstanceLatest.objects.filter(instance__cluster=cluster, state__in=_SAID).select_related("instance")
    return list(rows.order_by("instance__name"))


def _sentence(row: InstanceLatest) -> str:
    since = f"{row.instance.name} {_SAID[row.state]} since {row.state_since:%Y-%m-%d %H:%M} UTC"
    return f"{since}: {row.reason.rstrip('.')}." if row.reason else f"{since}."
