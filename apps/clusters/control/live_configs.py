"""What a change is made from: the live files, with what a pgpool owes already, and known ones of those out of reach."""

from collections.abc import Sequence
from dataclasses import replace

from apps.clusters.control import debts, presence, revisions
from apps.clusters.control.revisions import ConfigUnusable, LiveConfig, WeightsRefused
from apps.clusters.domain import pgpool_conf
from apps.clusters.domain.rollout_waves import Plan
from apps.clusters.models import Cluster, InstanceConfig, PgpoolInstance
from apps.clusters.outside.delivery import LiveFile


class NobodyReached(WeightsRefused):
    """A revision that every pgpool would owe."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"No pgpool can be reached, and at least one has to take the change. {reason}")


def read(cluster: Cluster, instances: Sequence[PgpoolInstance], plan: Plan) -> list[LiveConfig]:
    """One for each instance, in their order.

    Where the plan lets a pgpool owe, the file that is known of one that is out of reach stands for its live one. A
    pgpool that owes a revision is taken as if it had it, so that a newer one leaves nothing out.
    Raises ConfigUnusable or NobodyReached.
    """
    found = _reached(cluster, instances) if plan.lets_owe else revisions.read_live(cluster, instances)
    owed = debts.owed_files(instances)
    return [_with_owed(config, owed.get(config.instance.pk)) for config in found]


def _reached(cluster: Cluster, instances: Sequence[PgpoolInstance]) -> list[LiveConfig]:
    known = None
    found = []
    for instance in instances:
        try:
            found += revisions.read_live(cluster, [instance])
        except ConfigUnusable as error:
            if not presence.silence_of(instance):
                raise  # it runs, and its file cannot be had: that is not to be away
            known = revisions.known_files(cluster) if known is None else known
            found.append(_known(instance, known.get(instance.pk), error))
    if found and all(config.absent for config in found):
        raise NobodyReached(found[0].absent)
    return found


def _known(instance: PgpoolInstance, known: revisions.Known | None, error: ConfigUnusable) -> LiveConfig:
    text = seen_latest(instance) if known is None else known.text
    if not text or not pgpool_conf.is_readable(text):
        raise ConfigUnusable(instance.name, f"{error.reason} No file of it is known that it could owe.") from error
    file = LiveFile(text, revisions.sha256_of(text), "", "")
    return LiveConfig(instance, file, pgpool_conf.parse(text), absent=str(error))


def seen_latest(instance: PgpoolInstance) -> str:
    """By the look for drift, where nothing was ever rolled out; empty before the first look."""
    return InstanceConfig.objects.filter(instance=instance).values_list("file_text", flat=True).first() or ""


def _with_owed(config: LiveConfig, owed: debts.OwedFile | None) -> LiveConfig:
    """A file that somebody edited meanwhile is taken as it is: the request is refused, or told to go on from it."""
    if owed is None or not owed.may_stand(config.file):
        return config
    return replace(config, conf=pgpool_conf.parse(owed.text))
