"""A draft as its page and the REST interface show it, and the bar that reminds of it. Secrets are masked."""

from collections.abc import Mapping
from datetime import datetime
from typing import TypedDict

from django.db.models import Max

from apps.accounts.access import Caller
from apps.clusters.control.draft_rows import WEIGHTS, Draft
from apps.clusters.domain.conf_secrets import mask_value
from apps.clusters.models import Cluster, ConfigDraft, ConfigRevision
from apps.clusters.queries.configuration import configuration_answer
from apps.clusters.queries.weight_words import backend_names, shares_text

MOST_NEWER = 10


class StandingValue(TypedDict):
    """What one pgpool's file says, as it was seen latest; null where that is not known."""

    pgpool: str
    value: str | None


class DraftLine(TypedDict):
    """One drafted parameter. instance: null for all pgpools; value: masked, null for the default.

    now: what stands there, of the pgpools that it would change; empty for a name that is not known.
    """

    parameter: str
    instance: str | None
    value: str | None
    now: list[StandingValue]
    changed_by: str
    changed_at: datetime | None


class DraftedWeights(TypedDict):
    """Weights of one pgpool, by node_id; text: as shares of the backends."""

    instance: str
    weights: dict[str, float]
    text: str
    changed_by: str
    changed_at: datetime | None


class NewerRevision(TypedDict):
    """A revision that came in since the draft was begun or looked at. state: of its latest rollout, null without one.

    changed: names of parameters, and "weights"; also_drafted: those of them that the draft changes too.
    """

    revision: int
    author: str
    note: str
    created_at: datetime
    state: str | None
    changed: list[str]
    also_drafted: list[str]


class DraftAnswer(TypedDict):
    """version: send it as If-Match to change exactly this draft. weights: by node_id, null where none are drafted.

    own_weights: of single pgpools, which go before weights; a pgpool that neither names keeps its own.
    base_revision: the latest revision when it was begun or looked at; newer: what came in since, latest first.
    """

    version: str
    count: int
    changes: list[DraftLine]
    weights: dict[str, float] | None
    weights_changed_by: str
    weights_changed_at: datetime | None
    own_weights: list[DraftedWeights]
    base_revision: int
    newer: list[NewerRevision]
    begun_at: datetime | None
    changed_at: datetime | None


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


def draft_answer(*, cluster: Cluster, draft: Draft) -> DraftAnswer:
    weights = draft.touches.get(("", WEIGHTS))
    return {
        "version": draft.version,
        "count": draft.count,
        "changes": _lines(cluster, draft),
        "weights": None if draft.weights is None else dict(draft.weights),
        "weights_changed_by": weights.by if weights is not None else "",
        "weights_changed_at": weights.at if weights is not None else None,
        "own_weights": _own_weights(cluster, draft),
        "base_revision": draft.base_revision,
        "newer": _newer(cluster, draft) if draft.count else [],
        "begun_at": draft.begun_at,
        "changed_at": draft.changed_at,
    }


def _lines(cluster: Cluster, draft: Draft) -> list[DraftLine]:
    places = sorted(place for place in draft.values if place[1] != WEIGHTS)
    standing = _standing(cluster) if places else {}
    return [_line(draft, instance, name, standing.get(name, [])) for instance, name in places]


def _own_weights(cluster: Cluster, draft: Draft) -> list[DraftedWeights]:
    names = backend_names(cluster=cluster) if draft.weights_per_instance else {}
    found: list[DraftedWeights] = []
    for instance, weights in sorted(draft.weights_per_instance.items()):
        touch = draft.touches.get((instance, WEIGHTS))
        found.append(
            {
                "instance": instance,
                "weights": dict(weights),
                "text": shares_text({instance: weights}, names),
                "changed_by": touch.by if touch is not None else "",
                "changed_at": touch.at if touch is not None else None,
            }
        )
    return found


def _line(draft: Draft, instance: str, name: str, standing: list[StandingValue]) -> DraftLine:
    touch = draft.touches.get((instance, name))
    value = draft.per_instance[instance][name] if instance else draft.parameters[name]
    return {
        "parameter": name,
        "instance": instance or None,
        "value": None if value is None else mask_value(name, value),
        "now": [each for each in standing if not instance or each["pgpool"] == instance],
        "changed_by": touch.by if touch is not None else "",
        "changed_at": touch.at if touch is not None else None,
    }


def _standing(cluster: Cluster) -> Mapping[str, list[StandingValue]]:
    return {
        one["name"]: [{"pgpool": value["pgpool"], "value": value["effective"]} for value in one["values"]]
        for one in configuration_answer(cluster=cluster)["results"]
    }


def _newer(cluster: Cluster, draft: Draft) -> list[NewerRevision]:
    since = cluster.revisions.filter(number__gte=draft.base_revision).order_by("-number")
    found = list(since.prefetch_related("rollouts")[: MOST_NEWER + 1])
    drafted = {name for _, name in draft.values}
    newer: list[NewerRevision] = []
    for position, revision in enumerate(found):
        if revision.number > draft.base_revision and len(newer) < MOST_NEWER:
            older = found[position + 1] if position + 1 < len(found) else None
            newer.append(_newer_revision(revision, older, drafted))
    return newer


def _newer_revision(revision: ConfigRevision, older: ConfigRevision | None, drafted: set[str]) -> NewerRevision:
    moves = older is None or older.weights != revision.weights
    changed = [*revision.parameter_names, *([WEIGHTS] if moves else [])]
    states = [rollout.state for rollout in sorted(revision.rollouts.all(), key=lambda one: one.pk)]
    return {
        "revision": revision.number,
        "author": revision.author_name,
        "note": revision.note,
        "created_at": revision.created_at,
        "state": states[-1] if states else None,
        "changed": changed,
        "also_drafted": [name for name in changed if name in drafted],
    }
