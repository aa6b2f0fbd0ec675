"""What is done about drift: the edited files become a revision, or the verified ones are put back; both by a rollout.

The rollout of an adopted file is held against the verified one: it reads back every value that was edited, and rolling
it back later takes the edit back.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime

from django.db import transaction

from apps.accounts.access import Caller
from apps.clusters.control import adoptable, as_registered, deliveries, revisions, rollout_rows, whole_files
from apps.clusters.control.revisions import ConfigUnusable, LiveConfig, NewFile, WeightsRefused
from apps.clusters.control.verified_files import VerifiedFile, measured_against
from apps.clusters.domain import pgpool_conf
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


def request_adoption(
    *, caller: Caller, cluster: Cluster, names: Collection[str] = (), note: str = "", now: datetime
) -> Rollout:
    """Take the files that were edited by hand as a revision, and verify it by a rollout.

    names: of the pgpools; empty: all that were edited. Raises UnknownInstances, DriftRefused (nothing to adopt, weights
    that pgpool would not balance by), WeightsRefused (observe only, a file that cannot be read) or RolloutRunning.
    """

    def files(instances: Sequence[PgpoolInstance], verified: Mapping[int, VerifiedFile]) -> list[NewFile]:
        edited = _read_edited(cluster, instances, verified)
        return [_adopted(config, verified[config.instance.pk]) for config in edited]

    return _request(
        caller,
        cluster,
        names,
        files,
        origin=Origin.ADOPTED,
        note=note,
        nothing="adopt",
        now=now,
    )


def request_reversion(
    *, caller: Caller, cluster: Cluster, names: Collection[str] = (), note: str = "", now: datetime
) -> Rollout:
    """Put the verified files back where they were edited, or are not in force. names, errors: as request_adoption."""

    def files(instances: Sequence[PgpoolInstance], verified: Mapping[int, VerifiedFile]) -> list[NewFile]:
        return [
            NewFile(instance=instance, text=verified[instance.pk].text, base=live)
            for instance in instances
            if (live := read_raw(instance)).sha256 != verified[instance.pk].sha256 or _is_out_of_force(instance)
        ]

    return _request(
        caller,
        cluster,
        names,
        files,
        origin=Origin.REVERTED,
        note=note,
        nothing="revert",
        now=now,
    )


def _request(
    caller: Caller,
    cluster: Cluster,
    names: Collection[str],
    files: Callable[[Sequence[PgpoolInstance], Mapping[int, VerifiedFile]], list[NewFile]],
    *,
    origin: Origin,
    note: str,
    nothing: str,
    now: datetime,
) -> Rollout:
    instances = chosen(cluster, names)
    with rollout_rows.one_at_a_time(cluster), transaction.atomic():
        rollout_rows.hold(cluster)
        verified = measured_against(instances)
        comparable = [instance for instance in instances if instance.pk in verified]
        new = files(comparable, verified)
        if not new:
            where = ", ".join(each.name for each in instances)
            raise DriftRefused(f"There is nothing to {nothing} on {where}: it is as it was verified.")
        as_registered.store(caller=caller, cluster=cluster)
        revision = revisions.store(cluster=cluster, origin=origin, note=note.strip(), author=caller.user, files=new)
        before = {file.instance.name: revisions.plain(_weights_in(file.base.text)) for file in new}
        return rollout_rows.create(caller=caller, cluster=cluster, revision=revision, weights_before=before, now=now)


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


def _read_edited(
    cluster: Cluster, instances: Sequence[PgpoolInstance], verified: Mapping[int, VerifiedFile]
) -> list[LiveConfig]:
    """Those whose file is not the verified one. Raises ConfigUnusable."""
    edited = [each for each in instances if read_raw(each).sha256 != verified[each.pk].sha256]
    return revisions.read_live(cluster, edited)


def _adopted(config: LiveConfig, verified: VerifiedFile) -> NewFile:
    if fault := adoptable.fault_of(config.instance, config.conf.text, verified=verified.text):
        raise DriftRefused(f"{config.instance.name}: {fault}. Correct the file, or revert it.")
    text = whole_files.written_out(config.instance, config.conf.text, standing=verified.text)
    if text != config.conf.text:  # lines are gone: their defaults have to be written to the file that stands there
        return NewFile(instance=config.instance, text=text, base=config.file)
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
