"""What is done about drift: the edited files become a revision, or the verified ones are put back; both by a rollout.

The rollout of an adopted file is held against the verified one: it reads back every value that was edited, and rolling
it back later takes the edit back. The file is left as it was found, except that a line that was removed is written out
with its default, which a reload alone would not bring back.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from django.db import transaction

from apps.accounts.access import Caller
from apps.clusters.control import (
    adoptable,
    as_registered,
    debts,
    deliveries,
    live_configs,
    presence,
    revisions,
    rollout_rows,
    whole_files,
)
from apps.clusters.control.revisions import ConfigUnusable, LiveConfig, NewFile, WeightsRefused
from apps.clusters.control.verified_files import VerifiedFile, measured_against
from apps.clusters.domain import pgpool_conf
from apps.clusters.domain.rollout_waves import Plan, PlanError, parse_plan
from apps.clusters.models import Cluster, ConfigRevision, InstanceConfig, PgpoolInstance, Rollout
from apps.clusters.outside.delivery import (
    FileUnreadable,
    LiveFile,
    PathRefused,
    UnknownDelivery,
    WritesForbidden,
)

Origin = ConfigRevision.Origin


class DriftRefused(WeightsRefused):
    """Drift cannot be adopted or reverted as it stands."""


class UnknownInstances(ValueError):
    """These are no pgpools of the cluster."""

    def __init__(self, names: Sequence[str], known: Sequence[str]) -> None:
        super().__init__(f"must be pgpools of this cluster: {', '.join(known)}; {', '.join(map(repr, names))} is none")


@dataclass(frozen=True)
class _Found:
    """The file of one pgpool. absent: why it could not be read, where the one that was seen latest stands for it."""

    instance: PgpoolInstance
    file: LiveFile
    absent: str = ""


class _Files(Protocol):
    def __call__(self, found: Sequence[_Found], verified: Mapping[int, VerifiedFile]) -> list[NewFile]: ...


def request_adoption(
    *,
    caller: Caller,
    cluster: Cluster,
    names: Collection[str] = (),
    note: str = "",
    plan: object = None,
    now: datetime,
) -> Rollout:
    """Take the files that were edited by hand as a revision, and verify it by a rollout.

    It writes none of them, but where lines were removed: there their defaults.

    names: of the pgpools; empty: all that were edited. plan: as rollout_waves.parse_plan takes it.
    Raises UnknownInstances, PlanError, DriftRefused (nothing to adopt, weights that pgpool would not balance by),
    WeightsRefused (observe only, a file that cannot be read) or RolloutRunning.
    """

    def files(found: Sequence[_Found], verified: Mapping[int, VerifiedFile]) -> list[NewFile]:
        edited = [one for one in found if one.file.sha256 != verified[one.instance.pk].sha256]
        return [_adopted(config, verified[config.instance.pk]) for config in _configs(cluster, edited)]

    return _request(caller, cluster, names, files, origin=Origin.ADOPTED, note=note, plan=plan, now=now)


def request_reversion(
    *,
    caller: Caller,
    cluster: Cluster,
    names: Collection[str] = (),
    note: str = "",
    plan: object = None,
    now: datetime,
) -> Rollout:
    """Put the verified files back where they were edited, or are not in force. names, plan, errors: as
    request_adoption.
    """

    def files(found: Sequence[_Found], verified: Mapping[int, VerifiedFile]) -> list[NewFile]:
        return [
            NewFile(instance=one.instance, text=verified[one.instance.pk].text, base=one.file)
            for one in found
            if one.file.sha256 != verified[one.instance.pk].sha256 or _is_out_of_force(one.instance)
        ]

    return _request(caller, cluster, names, files, origin=Origin.REVERTED, note=note, plan=plan, now=now)


def _request(
    caller: Caller,
    cluster: Cluster,
    names: Collection[str],
    files: _Files,
    *,
    origin: Origin,
    note: str,
    plan: object,
    now: datetime,
) -> Rollout:
    instances = chosen(cluster, names)
    parsed = parse_plan(plan, [each.name for each in instances])
    with rollout_rows.one_at_a_time(cluster), transaction.atomic():
        rollout_rows.hold(cluster)
        verified = measured_against(instances)
        found = [_found(instance, parsed) for instance in instances if instance.pk in verified]
        new = files(found, verified)
        if not new:
            where = ", ".join(each.name for each in instances)
            raise DriftRefused(f"There is nothing to {_VERBS[origin]} on {where}: it is as it was verified.")
        _refuse_canary(parsed, [file.instance.name for file in new])
        _refuse_absent([one for one in found if one.absent], new, _VERBS[origin])
        as_registered.store(caller=caller, cluster=cluster)
        revision = revisions.store(cluster=cluster, origin=origin, note=note.strip(), author=caller.user, files=new)
        before = {file.instance.name: revisions.plain(_weights_in(file.base.text)) for file in new}
        return rollout_rows.create(
            caller=caller, cluster=cluster, revision=revision, weights_before=before, plan=parsed, now=now
        )


_VERBS: Mapping[Origin, str] = {Origin.ADOPTED: "adopt", Origin.REVERTED: "revert"}


def _found(instance: PgpoolInstance, plan: Plan) -> _Found:
    """Raises ConfigUnusable."""
    try:
        return _Found(instance, read_raw(instance))
    except ConfigUnusable as error:
        if not plan.lets_owe or not presence.silence_of(instance):
            raise
        text = live_configs.seen_latest(instance)
        if not text:
            raise ConfigUnusable(instance.name, f"{error.reason} No file of it is known that it could owe.") from error
        return _Found(instance, LiveFile(text, revisions.sha256_of(text), "", ""), absent=str(error))


def _refuse_canary(plan: Plan, names: Sequence[str]) -> None:
    """Another would go first in its place. Raises PlanError."""
    if plan.canary and plan.canary not in names:
        raise PlanError("plan.canary", plan.canary, f"part of it; there are {', '.join(names)}")


def _refuse_absent(absent: Sequence[_Found], new: Sequence[NewFile], verb: str) -> None:
    """Raises NobodyReached, or DriftRefused: what such a pgpool owes already is in neither of its two files."""
    reasons = {one.instance.pk: one.absent for one in absent}
    owing = [file.instance for file in new if file.instance.pk in reasons]
    if owing and len(owing) == len(new):
        raise live_configs.NobodyReached(reasons[owing[0].pk])
    already = debts.owed_files(owing)
    if owed := [each.name for each in owing if each.pk in already]:
        raise DriftRefused(
            f"{', '.join(owed)} cannot be reached and owes a revision already: {verb} the others by their names, and "
            "this one when it is back."
        )


def chosen(cluster: Cluster, names: Collection[str]) -> list[PgpoolInstance]:
    """The pgpools of these names that can be written; all, without names. Raises UnknownInstances or ObserveOnly."""
    known = list(cluster.instances.select_related("cluster__organisation").order_by("name", "pk"))
    unknown = sorted(set(names) - {each.name for each in known})
    if unknown:
        raise UnknownInstances(unknown, [each.name for each in known])
    found = [each for each in known if not names or each.name in names]
    observed = [each for each in found if each.delivery_kind == PgpoolInstance.Delivery.OBSERVE]
    writable = [each for each in found if each not in observed]
    if (names and observed) or not writable:
        raise revisions.ObserveOnly([each.name for each in observed])
    return writable


def read_raw(instance: PgpoolInstance) -> LiveFile:
    """The live file, which need not be one that pgpool could read. Raises ConfigUnusable."""
    try:
        return deliveries.delivery_of(instance).read()
    except (FileUnreadable, PathRefused, UnknownDelivery, WritesForbidden) as error:
        raise ConfigUnusable(instance.name, str(error)) from error


def _configs(cluster: Cluster, edited: Sequence[_Found]) -> list[LiveConfig]:
    """Raises ConfigUnusable."""
    reached = revisions.read_live(cluster, [one.instance for one in edited if not one.absent])
    return reached + [_config_of(one) for one in edited if one.absent]


def _config_of(found: _Found) -> LiveConfig:
    try:
        conf = pgpool_conf.parse(found.file.text)
    except (pgpool_conf.ConfigSyntaxError, pgpool_conf.IncludeUnsupported) as error:
        raise ConfigUnusable(found.instance.name, str(error)) from error
    return LiveConfig(found.instance, found.file, conf, absent=found.absent)


def _adopted(config: LiveConfig, verified: VerifiedFile) -> NewFile:
    if fault := adoptable.fault_of(config.instance, config.conf.text, verified=verified.text):
        raise DriftRefused(f"{config.instance.name}: {fault}. Correct the file, or revert it.")
    text = whole_files.written_out(config.instance, config.conf.text, standing=verified.text)
    base = LiveFile(verified.text, verified.sha256, config.file.mode, config.file.owner)
    return NewFile(instance=config.instance, text=text, base=base)


def _is_out_of_force(instance: PgpoolInstance) -> bool:
    """Whether pgpool was seen to use another value than its file, which a reload may mend."""
    config = InstanceConfig.objects.filter(instance=instance).defer("file_text", "first_text").first()
    return config is not None and config.state == InstanceConfig.State.DRIFTED


def _weights_in(text: str) -> dict[int, float]:
    try:
        return revisions.weights_of(pgpool_conf.parse(text))
    except (pgpool_conf.ConfigSyntaxError, pgpool_conf.IncludeUnsupported):
        return {}
