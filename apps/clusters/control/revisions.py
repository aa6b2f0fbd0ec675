"""Revisions: what stands in every pgpool.conf, what was known to stand there, and what shall stand there."""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypedDict

from django.db.models import Max

from apps.accounts.models import User
from apps.clusters.control import whole_files
from apps.clusters.control.deliveries import delivery_of
from apps.clusters.domain import file_check, instance_numbering, pgpool_conf
from apps.clusters.domain.drift import unusable_weights
from apps.clusters.domain.findings import in_words
from apps.clusters.domain.instance_numbering import Address
from apps.clusters.domain.pgpool_conf import PgpoolConf
from apps.clusters.models import (
    Cluster,
    ConfigRevision,
    InstanceLatest,
    PgpoolInstance,
    RevisionFile,
    RolloutStep,
)
from apps.clusters.outside.delivery import (
    FileUnreadable,
    LiveFile,
    PathRefused,
    UnknownDelivery,
    WritesForbidden,
)

# pgpool gives a backend without a backend_weight line this one.
DEFAULT_WEIGHT = "1"
# The author of a revision that nobody asked for.
BY_ITSELF = "Lifeguard"

Weights = Mapping[int, float]


class WeightsRefused(ValueError):
    """Weights cannot be carried to this cluster as it is registered and configured now."""


class ConfigUnusable(WeightsRefused):
    """The pgpool.conf of an instance cannot be changed by Lifeguard as it stands."""

    def __init__(self, instance_name: str, reason: str) -> None:
        super().__init__(f"{instance_name}: {reason}")
        self.instance_name = instance_name
        self.reason = reason


class ObserveOnly(WeightsRefused):
    """Instances are registered as observe only, so nothing may be written there."""

    def __init__(self, instance_names: Sequence[str]) -> None:
        names = ", ".join(instance_names)
        super().__init__(
            f"{names}: registered as observe only, so Lifeguard never writes there. "
            "Choose a delivery for every pgpool of the cluster to change its weights from here."
        )
        self.instance_names = tuple(instance_names)


@dataclass(frozen=True)
class LiveConfig:
    """The pgpool.conf of one instance as it stands on its host.

    conf: what a change starts from, which is the file unless the pgpool owes a revision. absent: why the file could
    not be read, where one that is known stands for it.
    """

    instance: PgpoolInstance
    file: LiveFile
    conf: PgpoolConf
    absent: str = ""


@dataclass(frozen=True)
class Known:
    """What Lifeguard put or found there latest; several hashes where it is not known which of them holds.

    owed: the text that the pgpool owes. The edit by hand that is adopted by it stands there.
    """

    text: str
    sha256s: tuple[str, ...]
    owed: str = ""


class Difference(TypedDict):
    """A parameter of a live file that is not as it was known; null where a file does not name it."""

    instance: str
    name: str
    before: str | None
    after: str | None


@dataclass(frozen=True)
class NewFile:
    """A pgpool.conf that shall stand on an instance, and the one that it was made from."""

    instance: PgpoolInstance
    text: str
    base: LiveFile


def writable_instances(cluster: Cluster) -> list[PgpoolInstance]:
    """All instances of the cluster, in the order of a rollout. Raises ObserveOnly, or ConfigUnusable without any."""
    instances = list(cluster.instances.select_related("cluster__organisation").order_by("name", "pk"))
    observed = [each.name for each in instances if each.delivery_kind == PgpoolInstance.Delivery.OBSERVE]
    if observed:
        raise ObserveOnly(observed)
    if not instances:
        raise ConfigUnusable(cluster.slug, "has no pgpool instance")
    return instances


def read_live(cluster: Cluster, instances: Sequence[PgpoolInstance]) -> list[LiveConfig]:
    """Raises ConfigUnusable: a file cannot be read, has an include, or it or its pgpool numbers the backends otherwise
    than the cluster.
    """
    renumbered = InstanceLatest.objects.filter(instance__in=instances, state=InstanceLatest.State.RENUMBERED)
    for latest in renumbered.select_related("instance").order_by("instance__name"):
        raise ConfigUnusable(latest.instance.name, latest.reason)
    known = {backend.node_id: (backend.hostname, backend.port) for backend in cluster.backends.order_by("node_id")}
    return [_read(instance, known) for instance in instances]


def _read(instance: PgpoolInstance, known: Mapping[int, Address]) -> LiveConfig:
    try:
        file = delivery_of(instance).read()
    except (FileUnreadable, PathRefused, UnknownDelivery, WritesForbidden) as error:
        raise ConfigUnusable(instance.name, str(error)) from error
    if (unreadable := file_check.fault_of(file.text)) is not None:
        raise ConfigUnusable(instance.name, in_words(unreadable))
    conf = pgpool_conf.parse(file.text)
    _refuse_other_backends(instance, conf, known)
    return LiveConfig(instance, file, conf)


def _refuse_other_backends(instance: PgpoolInstance, conf: PgpoolConf, known: Mapping[int, Address]) -> None:
    advice = "Check that this is the file that the pgpool was started with, and that it was restarted since."
    named = set(conf.backend_node_ids())
    if named != known.keys():
        listed = f"{_listed(named)}, but its pgpool shows {_listed(set(known))}"
        raise ConfigUnusable(instance.name, f"{_place_of(instance)} names the backends {listed}. {advice}")
    places = {node_id: _place(conf, node_id, known[node_id]) for node_id in named}
    if different := instance_numbering.differences(known, places):
        text = f"{_place_of(instance)} numbers the backends differently: {'; '.join(different)}. {advice}"
        raise ConfigUnusable(instance.name, text)


def _place_of(instance: PgpoolInstance) -> str:
    return instance.delivery_path or "its published pgpool.conf"


def _place(conf: PgpoolConf, node_id: int, known: Address) -> Address:
    """Where the file says that the backend is; a port that it leaves out is taken for the known one."""
    port = conf.get(f"backend_port{node_id}") or ""
    return conf.get(f"backend_hostname{node_id}") or "", int(port) if port.isdecimal() and len(port) <= 5 else known[1]


def _listed(node_ids: set[int]) -> str:
    return ", ".join(map(str, sorted(node_ids))) or "none"


def known_files(cluster: Cluster) -> dict[int, Known]:
    """Instance id -> what is known of its file; an instance that no revision has seen is missing."""
    newest = (
        RevisionFile.objects.filter(revision__cluster=cluster, instance__isnull=False)
        .select_related("instance", "revision")
        .order_by("instance_id", "-revision__number")
        .distinct("instance_id")
    )
    files = {file.pk: file for file in newest}
    steps = RolloutStep.objects.filter(file__in=files).order_by("file_id", "-pk").distinct("file_id")
    outcome = {step.file_id: step for step in steps}
    return {file.instance_id: _known(file, outcome.get(file.pk)) for file in files.values() if file.instance_id}


def _known(file: RevisionFile, step: RolloutStep | None) -> Known:
    if step is None or step.state == RolloutStep.State.VERIFIED:
        return Known(file.text, (file.sha256,))
    if not step.is_touched:
        # An edit by hand that is adopted stands there already where its pgpool owes the revision.
        is_owed = step.state == RolloutStep.State.OWED
        owed = (file.sha256,) if is_owed else ()
        is_adopted = is_owed and file.revision.origin == ConfigRevision.Origin.ADOPTED
        return Known(file.base_text, (file.base_sha256, *owed), file.text if is_adopted else "")
    back = whole_files.way_back(file)
    if step.state == RolloutStep.State.RESTORED or (step.state == RolloutStep.State.OWED and "restore" in step.receipt):
        return Known(back, (file.base_sha256, sha256_of(back)))
    return Known(file.text, (file.sha256, file.base_sha256, sha256_of(back)))


def differences(live: Sequence[LiveConfig], known: Mapping[int, Known]) -> list[Difference]:
    """How live files differ from what is known of them; a file that was never seen differs from nothing."""
    found: list[Difference] = []
    for config in live:
        expected = known.get(config.instance.pk)
        if expected is not None and not _is_known(config, expected):
            found += _difference(config, expected)
    return found


def _is_known(config: LiveConfig, expected: Known) -> bool:
    if config.file.sha256 in expected.sha256s:
        return True
    return bool(expected.owed) and whole_files.is_edit_of(config.instance, config.file.text, adopted=expected.owed)


def _difference(config: LiveConfig, expected: Known) -> list[Difference]:
    name = config.instance.name
    if not pgpool_conf.is_readable(expected.text):
        return [{"instance": name, "name": "pgpool.conf", "before": "could not be read", "after": "different"}]
    changes = pgpool_conf.semantic_diff(pgpool_conf.parse(expected.text), config.conf)
    if not changes:
        return [{"instance": name, "name": "comments, spacing or order", "before": "as known", "after": "different"}]
    return [{"instance": name, "name": each.name, "before": each.before, "after": each.after} for each in changes]


def weights_of(conf: PgpoolConf) -> dict[int, float]:
    """node_id -> backend_weight as pgpool reads it: a text that is no number, and none at all, count as 0."""
    return {node_id: _as_pgpool_reads(weight_text(conf, node_id)) for node_id in conf.backend_node_ids()}


def weight_text(conf: PgpoolConf, node_id: int) -> str:
    value = conf.get(f"backend_weight{node_id}")
    return DEFAULT_WEIGHT if value is None else value


def _as_pgpool_reads(value: str) -> float:
    try:
        weight = float(value)
    except ValueError:
        return 0.0
    return weight if 0 <= weight < float("inf") else 0.0


def fault_of(text: str) -> str:
    """Why pgpool could not go by this file, or would not balance by its weights; "" if it could."""
    if (unreadable := file_check.fault_of(text)) is not None:
        return in_words(unreadable)
    conf = pgpool_conf.parse(text)
    return unusable_weights({node_id: weight_text(conf, node_id) for node_id in conf.backend_node_ids()})


def with_weights(conf: PgpoolConf, weights: Mapping[int, int]) -> PgpoolConf:
    return conf.with_values({f"backend_weight{node_id}": weight for node_id, weight in weights.items()})


def sha256_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def store(
    *,
    cluster: Cluster,
    origin: ConfigRevision.Origin,
    note: str,
    author: User | None,
    files: Sequence[NewFile],
    asked: Collection[str] = (),
    verified: Mapping[int, str] | None = None,
) -> ConfigRevision:
    """A revision with its files, numbered next. The caller holds the cluster's row, so that numbers stay unique.

    asked: parameters that somebody named, which are read back although they may be so already.
    verified: instance id -> the file that was verified there latest: what was edited since is read back as well.
    author None: nobody asked for it.
    """
    files = [
        replace(file, text=whole_files.written_out(file.instance, file.text, standing=file.base.text)) for file in files
    ]
    latest = cluster.revisions.aggregate(latest=Max("number"))["latest"] or 0
    readable = {pk: text for pk, text in (verified or {}).items() if pgpool_conf.is_readable(text)}
    earlier = ({pk: each.text for pk, each in known_files(cluster).items()}, readable)
    changes = {
        file.instance.name: whole_files.changed_names(
            file.text, file.base.text, *(each[file.instance.pk] for each in earlier if file.instance.pk in each)
        ).union(asked)
        for file in files
    }
    revision = ConfigRevision.objects.create(
        cluster=cluster,
        number=latest + 1,
        origin=origin,
        note=note,
        weights={file.instance.name: plain(weights_of(pgpool_conf.parse(file.text))) for file in files},
        parameters={name: found for name, names in changes.items() if (found := whole_files.but_weights(names))},
        moves_reads=whole_files.may_move_reads(changes.values()),
        author=author,
        author_name=BY_ITSELF if author is None else author.shown_name,
    )
    RevisionFile.objects.bulk_create(
        RevisionFile(
            revision=revision,
            instance=file.instance,
            instance_name=file.instance.name,
            text=file.text,
            sha256=sha256_of(file.text),
            base_text=file.base.text,
            base_sha256=file.base.sha256,
        )
        for file in files
    )
    return revision


def plain(weights: Weights) -> dict[str, float]:
    """As JSON stores it; whole weights without a point."""
    return {str(node_id): int(weight) if float(weight).is_integer() else weight for node_id, weight in weights.items()}
