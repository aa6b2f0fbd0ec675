"""The weights that a cluster wants by role, what they are now, and what a change of roles has proposed."""

from collections.abc import Mapping
from datetime import datetime
from typing import TypedDict

from apps.clusters.control import role_weights
from apps.clusters.control.revisions import WeightsRefused
from apps.clusters.domain.weights import shares
from apps.clusters.models import Cluster, RoleProposal, RoleWeights
from apps.clusters.queries import weight_words
from apps.clusters.queries.editing import weights_answer
from apps.clusters.queries.sight import Sight, sight_of

DEFAULT_PAUSE_S = 600
_SHARE_DIGITS = 0.000002


class RoleProposalAnswer(TypedDict):
    """What a change of roles asks for. reason: why it was not applied without a person."""

    id: int
    at: datetime
    sentence: str
    reason: str
    needs_person: bool


class RoleWeightsAnswer(TypedDict):
    """primary_share: 0..1, null where no weights by role are wanted. weights, shares: what the present roles ask for,
    by node_id; null with a reason. absent, on_return: of a pgpool that cannot be reached, where no plan says it; null:
    as what it owes already. is_met: whether every pgpool runs that. change: from what runs now, in words.
    """

    primary_share: float | None
    applies_itself: bool
    pause_s: int
    absent: str
    on_return: str | None
    primary: int | None
    weights: dict[str, int] | None
    shares: dict[str, float] | None
    is_met: bool | None
    change: str
    reason: str
    proposal: RoleProposalAnswer | None


def proposed(*, cluster: Cluster, now: datetime) -> RoleWeightsAnswer | None:
    """The answer where a change of roles waits for somebody, else None."""
    if not RoleProposal.objects.filter(cluster=cluster, state=RoleProposal.State.OPEN).exists():
        return None
    return role_weights_answer(cluster=cluster, now=now)


def role_weights_answer(*, cluster: Cluster, now: datetime) -> RoleWeightsAnswer:
    wish = RoleWeights.objects.filter(cluster=cluster).first()
    sight = sight_of(cluster)
    primary, wanted, reason = _wanted(cluster, sight, wish, now)
    running = weights_answer(cluster=cluster, now=now)["per_instance"] if wanted is not None else {}
    names = {one.backend.node_id: one.name for one in sight.backends}
    after = {str(node_id): weight for node_id, weight in (wanted or {}).items()}
    return {
        "primary_share": float(wish.primary_share) if wish else None,
        "applies_itself": wish.applies_itself if wish else False,
        "pause_s": wish.pause_s if wish else DEFAULT_PAUSE_S,
        "absent": wish.absent if wish else RoleWeights.Absent.REFUSE.value,
        "on_return": (wish.on_return or None) if wish else None,
        "primary": primary,
        "weights": after if wanted is not None else None,
        "shares": {str(n): share for n, share in shares(wanted).items()} if wanted is not None else None,
        "is_met": all(_is_same(wanted, each) for each in running.values()) if wanted and running else None,
        "change": weight_words.change_text(running, dict.fromkeys(running, after), names) if running else "",
        "reason": reason,
        "proposal": _proposal(cluster, names),
    }


def _wanted(
    cluster: Cluster, sight: Sight, wish: RoleWeights | None, now: datetime
) -> tuple[int | None, dict[int, int] | None, str]:
    if wish is None:
        return None, None, ""
    try:
        primary, weights = role_weights.wanted_now(cluster=cluster, sight=sight, now=now)
    except WeightsRefused as error:
        return None, None, str(error)
    return primary, weights, ""


def _is_same(wanted: Mapping[int, int], running: Mapping[str, int]) -> bool:
    total = sum(running.values())
    expected = shares(wanted)
    return total > 0 and all(
        abs(share - running.get(str(node_id), 0) / total) <= _SHARE_DIGITS for node_id, share in expected.items()
    )


def _proposal(cluster: Cluster, names: Mapping[int, str]) -> RoleProposalAnswer | None:
    found = RoleProposal.objects.filter(cluster=cluster, state=RoleProposal.State.OPEN).first()
    if found is None:
        return None
    now, before = (names.get(node, f"backend {node}") for node in (found.primary_node_id, found.previous_node_id))
    return {
        "id": found.pk,
        "at": found.at,
        "sentence": f"{now} was promoted; the primary was {before}. The weights still go by the roles of before.",
        "reason": found.reason,
        "needs_person": found.needs_person,
    }
