"""What was verified latest on every pgpool: the file that drift is measured against."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from django.db.models import Exists, OuterRef, Q, QuerySet

from apps.clusters.control import whole_files
from apps.clusters.control.revisions import sha256_of
from apps.clusters.models import ConfigRevision, InstanceConfig, PgpoolInstance, RevisionFile, RolloutStep


@dataclass(frozen=True)
class VerifiedFile:
    """revision_number None: nothing was verified there yet, and this is the file as it was found first."""

    instance_id: int
    text: str
    sha256: str
    revision_number: int | None


def verified_files(instances: Collection[PgpoolInstance], *, up_to: int | None = None) -> dict[int, VerifiedFile]:
    """Instance id -> the newest file that a rollout verified there, or that was stored when it was registered.

    A file that was only found there, and that nobody adopted, does not count. An instance without any is missing.
    up_to: as it was when the revision of this number had been rolled out.
    """
    newest = newest_files(instances, up_to=up_to).defer("base_text").select_related("revision")
    found = {
        file.instance_id: VerifiedFile(file.instance_id, file.text, file.sha256, file.revision.number)
        for file in newest
        if file.instance_id is not None
    }
    return _put_back(found, up_to=up_to)


def newest_files(instances: Collection[PgpoolInstance], *, up_to: int | None = None) -> QuerySet[RevisionFile]:
    """Of each instance the row that verified_files goes by."""
    steps = RolloutStep.objects.filter(file=OuterRef("pk"))
    verified = Exists(steps.filter(state=RolloutStep.State.VERIFIED))
    # What a way back wrote shall stand there, also where a frozen pgpool did not confirm it, unless it was undone.
    written_back = Exists(
        steps.filter(
            state=RolloutStep.State.FAILED, written_at__isnull=False, rollout__rollback_of__isnull=False,
            rollout__is_halting=False, rollout__is_cancel_requested=False,
        )
    )  # fmt: skip
    stored_only = ~Exists(steps) & ~Exists(ConfigRevision.objects.filter(pk=OuterRef("revision"), origin="live"))
    counts = verified | written_back | stored_only
    files = RevisionFile.objects.filter(counts, _reach(up_to, "revision__number"), instance__in=instances)
    return files.order_by("instance_id", "-revision__number").distinct("instance_id")


def _reach(up_to: int | None, column: str) -> Q:
    return Q() if up_to is None else Q(**{f"{column}__lte": up_to})


def _put_back(verified: Mapping[int, VerifiedFile], *, up_to: int | None) -> dict[int, VerifiedFile]:
    """Where a later rollout put the verified file back, with the defaults of what it leaves out written into it."""
    is_back = [RolloutStep.State.RESTORED, RolloutStep.State.RESTORE_PENDING]
    reach = _reach(up_to, "file__revision__number")
    went_back = Q(state__in=is_back) | Q(state=RolloutStep.State.OWED, receipt__has_key="restore")
    steps = RolloutStep.objects.filter(reach, went_back, file__instance__in=list(verified))
    found = dict(verified)
    for step in steps.select_related("file__instance", "file__revision").order_by("file__revision__number"):
        file = step.file
        before, number = found.get(file.instance_id or 0), file.revision.number
        if before is None or file.base_sha256 != before.sha256 or number <= (before.revision_number or 0):
            continue
        if step.receipt.get("restore", {}).get("sha256_after") == file.base_sha256:
            continue  # the new file was never written, so nothing is written out either
        text = whole_files.way_back(file)
        found[before.instance_id] = replace(before, text=text, sha256=sha256_of(text))
    return found


def measured_against(instances: Collection[PgpoolInstance]) -> dict[int, VerifiedFile]:
    """Instance id -> what drift is measured against: what was verified there, else what was found there first."""
    configs = InstanceConfig.objects.filter(instance__in=instances).defer("file_text")
    first = {config.pk: as_first_found(config.pk, config.first_text) for config in configs if config.first_text}
    return {**first, **verified_files(instances)}


def as_first_found(instance_id: int, text: str) -> VerifiedFile:
    """What drift is measured against until something was verified."""
    return VerifiedFile(instance_id, text, sha256_of(text), None)
