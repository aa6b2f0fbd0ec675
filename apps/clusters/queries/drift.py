"""Drift as pages and REST show it: what differs where since when, and what can be done about it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypedDict, cast

from django.db.models import QuerySet

from apps.accounts.access import Caller
from apps.accounts.roles import Role
from apps.clusters.control import whole_files, writes
from apps.clusters.control.stands import Stand, stands_of
from apps.clusters.control.verified_files import measured_against
from apps.clusters.domain import drift_words
from apps.clusters.domain.drift_words import StoredDifference
from apps.clusters.domain.routing_words import listed
from apps.clusters.models import Cluster, InstanceConfig, InstanceLatest, PgpoolInstance, Rollout
from apps.clusters.queries import debts
from apps.clusters.queries.revision_history import FileDiff, file_diff

State = InstanceConfig.State
StateName = Literal["looking", "in_step", "drifted", "unknown"]
OBSERVED = "Observe only: Lifeguard does not read its pgpool.conf."
NOTHING_TO_ADOPT = "There is nothing to adopt: its file is the verified one."
_BEING_WRITTEN = " is at work there: it is looked at as soon as it is done."
NOTHING_TO_REVERT = "There is nothing to revert: its file is the verified one."


class DriftDifference(TypedDict):
    """A parameter that is not as verified. Null: not named, or not shown; a secret is masked.

    kind: edited_live, not_reloaded, edited, mixed (its children disagree: running holds what each of several sessions
    showed), missing, not_in_force, unreadable; or pending_restart, which is no drift.
    """

    instance: str
    parameter: str
    verified: str | None
    file: str | None
    running: str | None
    kind: str
    meaning: str


class InstanceDrift(TypedDict):
    """One pgpool. revision: compared with; null: with the file as it was found first, which no revision holds yet.

    owes: which revision it owes, since nobody could reach it, in a sentence; empty if none. is_only_text: the file
    differs in comments, spacing, order or spelling at most. adopt_reason, revert_reason: why it cannot be, empty if it
    can.
    """

    instance: str
    state: StateName
    sentence: str
    reason: str
    looked_at: datetime | None
    since: datetime | None
    revision: int | None
    is_only_text: bool
    owes: str
    can_adopt: bool
    adopt_reason: str
    can_revert: bool
    revert_reason: str


class DriftAnswer(TypedDict):
    """state: in_step, drifted, unknown (somebody cannot be looked at) or looking.

    can_adopt, can_revert: at least one pgpool can be, and nothing keeps the others from going along, by a plan that
    lets those owe it that are away. unreached: which ones are away, in a sentence, empty for none.
    differences: what is drift; pending_restarts: what is as verified, and waits for a restart only.
    """

    state: StateName
    sentence: str
    looked_at: datetime | None
    differences: list[DriftDifference]
    pending_restarts: list[DriftDifference]
    instances: list[InstanceDrift]
    unreached: str
    can_adopt: bool
    adopt_reason: str
    can_revert: bool
    revert_reason: str


@dataclass(frozen=True)
class _Seen:
    """A pgpool with what was found there; config is None until the first look, and for one that is observe only."""

    instance: PgpoolInstance
    config: InstanceConfig | None
    state: str
    reason: str

    @property
    def differences(self) -> list[StoredDifference]:
        is_known = self.config is not None and self.state in {State.DRIFTED, State.IN_STEP}
        return self.config.differences if self.config is not None and is_known else []

    @property
    def drifted(self) -> list[StoredDifference]:
        return drift_words.drifted(self.differences)


def drift_answer(*, caller: Caller, cluster: Cluster) -> DriftAnswer:
    rollout = _lately(cluster)
    known = list(_instances(cluster))
    stands = stands_of(known)
    seen = [_seen(instance, rollout, stands.get(instance.pk)) for instance in known]
    hindrance = _hindrance(caller, cluster, rollout)
    owing = debts.sentences(cluster_ids=[cluster.pk])
    instances = [_instance(one, hindrance, owing.get(one.instance.pk, "")) for one in seen]
    state = _state([one.state for one in seen])
    differences = [(one, each) for one in seen for each in one.differences]
    looked = [one.config.looked_at for one in seen if one.config is not None and one.config.looked_at is not None]
    away = {one.instance.name: one for one in seen if _is_away(one, owes=one.instance.pk in owing)}
    adopted = [name for name, one in away.items() if not _is_faulty(one)]
    adopt_reason = _of_all({one["instance"]: one["adopt_reason"] for one in instances}, NOTHING_TO_ADOPT, adopted)
    revert_reason = _of_all({one["instance"]: one["revert_reason"] for one in instances}, NOTHING_TO_REVERT, away)
    return {
        "state": cast("StateName", state),
        "sentence": _sentence(state, seen),
        "looked_at": min(looked, default=None),
        "differences": [_difference(one, each) for one, each in differences if each in one.drifted],
        "pending_restarts": [_difference(one, each) for one, each in differences if each not in one.drifted],
        "instances": instances,
        "unreached": _unreached(list(away)),
        "can_adopt": not adopt_reason,
        "adopt_reason": adopt_reason,
        "can_revert": not revert_reason,
        "revert_reason": revert_reason,
    }


def _instances(cluster: Cluster) -> QuerySet[PgpoolInstance]:
    found = cluster.instances.select_related("config", "latest").order_by("name", "pk")
    return found.defer("pcp_password", "config__file_text", "config__first_text", "config__running")


def _lately(cluster: Cluster) -> Rollout | None:
    """The rollout that is under way, else the one that ended latest."""
    found = Rollout.objects.filter(cluster=cluster).order_by("-pk")
    return found.filter(state__in=Rollout.ACTIVE).first() or found.exclude(finished_at=None).first()


def _seen(instance: PgpoolInstance, rollout: Rollout | None, stand: Stand | None) -> _Seen:
    config: InstanceConfig | None = getattr(instance, "config", None)
    if instance.delivery_kind == PgpoolInstance.Delivery.OBSERVE:
        return _Seen(instance, config, State.UNKNOWN, OBSERVED)
    if config is None or config.looked_at is None:
        return _Seen(instance, config, State.LOOKING, "It was not looked at yet.")
    if stand is not None and not stand.is_at_rest:
        return _Seen(instance, config, State.LOOKING, f"Rollout {stand.rollout_id}{_BEING_WRITTEN}")
    if stand is not None and stand.done_at is not None and stand.done_at > config.looked_at:
        return _Seen(instance, config, State.LOOKING, f"Rollout {stand.rollout_id} was there since the latest look.")
    if rollout is not None and rollout.finished_at is not None and rollout.finished_at > config.looked_at:
        return _Seen(instance, config, State.LOOKING, f"Rollout {rollout.pk} has just ended.")
    return _Seen(instance, config, config.state, config.reason if config.state == State.UNKNOWN else "")


def _hindrance(caller: Caller, cluster: Cluster, rollout: Rollout | None) -> str:
    """Why this caller can change nothing now."""
    if not caller.may(Role.OPERATOR):
        return f"You have {caller.role} access; this needs the role operator."
    if rollout is not None and rollout.finished_at is None:
        return f"Rollout {rollout.pk} is under way: wait for its end, or cancel it."
    return writes.why_not(cluster) or ""


def _instance(one: _Seen, hindrance: str, owes: str) -> InstanceDrift:
    config = one.config
    is_compared = config is not None and one.state in {State.DRIFTED, State.IN_STEP, State.UNKNOWN}
    is_other_text = config is not None and is_compared and config.is_other_text
    adopt_reason, revert_reason = _adopt_reason(one, hindrance), _revert_reason(one, hindrance)
    return {
        "instance": one.instance.name,
        "state": cast("StateName", one.state),
        "sentence": _instance_sentence(one, is_only_text=is_other_text and not one.drifted),
        "reason": one.reason,
        "looked_at": config.looked_at if config is not None else None,
        "since": config.since if config is not None and one.drifted else None,
        "revision": config.revision_number if config is not None else None,
        "is_only_text": is_other_text and one.state == State.IN_STEP,
        "owes": owes,
        "can_adopt": not adopt_reason,
        "adopt_reason": adopt_reason,
        "can_revert": not revert_reason,
        "revert_reason": revert_reason,
    }


def _adopt_reason(one: _Seen, hindrance: str) -> str:
    if one.reason or hindrance:
        return one.reason or hindrance
    if one.config is None or not one.config.is_other_text:
        return NOTHING_TO_ADOPT
    return one.config.fault


def _revert_reason(one: _Seen, hindrance: str) -> str:
    if one.reason or hindrance:
        return one.reason or hindrance
    if one.config is None or not (one.config.is_other_text or one.drifted):
        return NOTHING_TO_REVERT
    return ""


def _is_away(one: _Seen, *, owes: bool) -> bool:
    """Whether a plan may let it owe what the others are given. One that owes already has to come back with its edit."""
    latest: InstanceLatest | None = getattr(one.instance, "latest", None)
    is_silent = latest is not None and latest.state in {InstanceLatest.State.HANGING, InstanceLatest.State.UNREACHABLE}
    is_edited = one.config is not None and one.config.is_other_text
    return one.state == State.UNKNOWN and one.reason != OBSERVED and is_silent and not (owes and is_edited)


def _is_faulty(one: _Seen) -> bool:
    return one.config is not None and one.config.is_other_text and bool(one.config.fault)


def _unreached(names: Sequence[str]) -> str:
    if not names:
        return ""
    takes = "takes part only by a plan that lets it" if len(names) == 1 else "take part only by a plan that lets them"
    return f"{listed(names)} cannot be reached, and {takes} owe what the others are given."


def _of_all(reasons: Mapping[str, str], nothing: str, away: Collection[str]) -> str:
    """Why all that differ cannot be adopted, or reverted, at once. reasons: of each pgpool, by its name.

    away: names of those that may owe it; at least one other has to take it.
    """
    if "" not in reasons.values():
        return next((reason for reason in reasons.values() if reason != nothing), nothing)
    cleared = {"", nothing, OBSERVED}
    in_the_way = [name for name, reason in reasons.items() if reason not in cleared and name not in away]
    return f"Not all at once: {listed(in_the_way)} cannot be. Take them one by one." if in_the_way else ""


def _state(states: Collection[str]) -> str:
    worst_first = (State.DRIFTED, State.UNKNOWN, State.LOOKING)
    return str(next((state.value for state in worst_first if state in states), State.IN_STEP.value))


def _sentence(state: str, seen: Sequence[_Seen]) -> str:
    """The headline."""
    if state == State.DRIFTED:
        first, *others = [one for one in seen if one.drifted]
        also = f"; also on {listed([one.instance.name for one in others])}" if others else ""
        return f"{drift_words.headline(first.instance.name, first.drifted)}{also}."
    if state == State.UNKNOWN and all(one.reason == OBSERVED for one in seen):
        return "The files of this cluster are not looked at: observe only."
    if state == State.UNKNOWN:
        return f"{listed([one.instance.name for one in seen if one.state == State.UNKNOWN])} cannot be compared."
    if state == State.LOOKING and (written := [one for one in seen if one.reason.endswith(_BEING_WRITTEN)]):
        names = listed([one.instance.name for one in written])
        return f"{names} {'is' if len(written) == 1 else 'are'} being rolled out to, and looked at afterwards."
    if state == State.LOOKING:
        return "Every pgpool is about to be looked at."
    return "Every pgpool's file and what it runs are as verified."


def _instance_sentence(one: _Seen, *, is_only_text: bool) -> str:
    if one.drifted:
        return f"{drift_words.headline(one.instance.name, one.drifted)}."
    if one.reason:
        return one.reason
    if is_only_text:
        return "Its file differs in comments, spacing or order only; every value is as verified."
    return "Its file and what it runs are as verified."


def _difference(one: _Seen, found: StoredDifference) -> DriftDifference:
    return {
        "instance": one.instance.name,
        "parameter": found["parameter"],
        "verified": found["verified"],
        "file": found["file"],
        "running": found["running"],
        "kind": found["kind"],
        "meaning": drift_words.meaning(found),
    }


def drift_diffs(*, cluster: Cluster, names: Collection[str], is_revert: bool) -> list[FileDiff]:
    """The files that differ, line by line as they were found latest: what adopting takes in, or reverting writes."""
    instances = [one for one in _instances(cluster) if not names or one.name in names]
    verified = measured_against(instances)
    found = []
    for config in InstanceConfig.objects.filter(instance__in=instances, is_other_text=True).order_by("instance__name"):
        if config.pk in verified:
            instance = next(one for one in instances if one.pk == config.pk)
            before, after = verified[config.pk].text, config.file_text
            # What only the other one sets is written out with its default.
            texts = (after, before) if is_revert else (before, after)
            whole = whole_files.written_out(instance, texts[1], standing=texts[0])
            found.append(file_diff(instance.name, texts[0], whole))
    return found
