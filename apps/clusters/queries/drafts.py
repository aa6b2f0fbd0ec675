"""A draft as its page shows it, and the bar that reminds of it. Secrets are masked."""

from typing import TypedDict

from django.db.models import Max

from apps.accounts.access import Caller
from apps.clusters.control.drafts import Draft
from apps.clusters.domain.conf_secrets import mask_value
from apps.clusters.models import Cluster, ConfigDraft


class DraftLine(TypedDict):
    """One drafted change. instance: empty for all pgpools; value: masked, None for the default."""

    name: str
    instance: str
    value: str | None


class DraftBar(TypedDict):
    """newer_revision: the latest one, where it came in since the draft was begun."""

    count: int
    newer_revision: int | None


def draft_bar(*, caller: Caller, cluster: Cluster) -> DraftBar | None:
    """None where the caller has drafted nothing."""
    mine = ConfigDraft.objects.filter(cluster=cluster, author=caller.user)
    found = mine.annotate(latest=Max("cluster__revisions__number")).values("count", "base_revision", "latest").first()
    if found is None:
        return None
    latest = found["latest"] or 0
    return {"count": found["count"], "newer_revision": latest if latest > found["base_revision"] else None}


def draft_lines(draft: Draft) -> list[DraftLine]:
    return [
        {"name": name, "instance": instance, "value": None if value is None else mask_value(name, value)}
        for instance, values in [("", draft.parameters), *sorted(draft.per_instance.items())]
        for name, value in sorted(values.items())
    ]
