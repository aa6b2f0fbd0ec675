"""Whether writes are allowed, and who stopped them when and why."""

from datetime import datetime
from typing import TypedDict

from django.db.models import Q

from apps.accounts.models import Organisation
from apps.clusters.control.writes import ObservedOnly, words
from apps.clusters.models import Cluster, WritesSwitch


class SwitchAnswer(TypedDict):
    """One of the two switches. by, at: who used it latest, null while nobody has; sentence: empty while allowed."""

    allowed: bool
    reason: str
    by: str | None
    at: datetime | None
    sentence: str


class WritesAnswer(TypedDict):
    """allowed: by both switches; reason, by, at, sentence: of the one that counts, the installation's first.

    finishing: writes that were under way when they were stopped and have not ended yet.
    """

    allowed: bool
    reason: str
    by: str | None
    at: datetime | None
    sentence: str
    finishing: int
    organisation: SwitchAnswer
    installation: SwitchAnswer


def writes_answer(*, organisation: Organisation, finishing: int = 0) -> WritesAnswer:
    rows = WritesSwitch.objects.filter(Q(organisation=None) | Q(organisation=organisation))
    found = {row.organisation_id: row for row in rows}
    own, whole = _switch(found.get(organisation.pk)), _switch(found.get(None))
    counts = own if whole["allowed"] else whole
    return {**counts, "finishing": finishing, "organisation": own, "installation": whole}


class ObserveAnswer(TypedDict):
    """observe_only: of what was asked for; of a cluster also while its organisation is. sentence: what that means."""

    observe_only: bool
    organisation: bool
    sentence: str


def observe_answer(*, organisation: Organisation, cluster: Cluster | None = None) -> ObserveAnswer:
    whole = organisation.is_observe_only
    is_observed = whole or (cluster is not None and cluster.is_observe_only)
    name = cluster.name if cluster is not None and cluster.is_observe_only else organisation.name
    return {
        "observe_only": is_observed,
        "organisation": whole,
        "sentence": str(ObservedOnly(name)) if is_observed else "",
    }


def installation_answer() -> SwitchAnswer:
    return _switch(WritesSwitch.objects.filter(organisation=None).first())


def _switch(row: WritesSwitch | None) -> SwitchAnswer:
    if row is None:
        return {"allowed": True, "reason": "", "by": None, "at": None, "sentence": ""}
    return {
        "allowed": not row.is_stopped,
        "reason": row.reason,
        "by": row.changed_by_name,
        "at": row.changed_at,
        "sentence": words(row) if row.is_stopped else "",
    }
