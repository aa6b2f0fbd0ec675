"""Revisions afterwards: what each held, what it changed, and which rollouts carried it. Secrets are masked."""

from collections.abc import Sequence
from datetime import datetime
from typing import TypedDict

from django.db.models import QuerySet

from apps.clusters.control import debts, whole_revisions
from apps.clusters.control.weight_change import PreviewLine, changed_lines, preview_lines
from apps.clusters.domain import pgpool_conf
from apps.clusters.domain.pgpool_conf import ConfigSyntaxError, IncludeUnsupported
from apps.clusters.models import Cluster, ConfigRevision, PgpoolInstance, RevisionFile, Rollout, RolloutStep
from apps.clusters.queries import weight_words
from apps.clusters.queries.debts import DebtAnswer, debts_of_steps
from apps.clusters.queries.weight_words import backend_names

Weights = dict[str, dict[str, float]]


class RevisionAnswer(TypedDict):
    """weights: instance name -> node_id -> weight; weights_text: as shares; rollouts: ids of those that carried it.

    parameters: names but weights that it changes or confirms.
    """

    id: int
    number: int
    origin: str
    origin_text: str
    note: str
    author: str
    created_at: datetime
    weights: Weights
    weights_text: str
    integers_text: str
    parameters: list[str]
    parameters_text: str
    rollouts: list[int]


class RevisionChange(TypedDict):
    """A parameter whose value differs; null where the file does not name it."""

    instance: str
    parameter: str
    before: str | None
    after: str | None


class FileDiff(TypedDict):
    """One pgpool.conf against another. changed_lines: of the new file, or lines that only went."""

    instance: str
    changed_lines: int
    lines: list[PreviewLine]


class OwedDiff(FileDiff):
    """What a rollout had for a pgpool that it passed by. debt: what became of it; null while it is under way."""

    debt: DebtAnswer | None


class RevisionFileAnswer(FileDiff):
    """compared_with: the latest earlier revision that holds this pgpool; null: the file that was found there."""

    compared_with: int | None
    text: str


class RevisionDetail(RevisionAnswer):
    """changes and files: against the revision before. carried: pgpools that it left alone -> whose file stood there."""

    changes: list[RevisionChange]
    files: list[RevisionFileAnswer]
    carried: dict[str, int]


def revision_answers(*, cluster: Cluster, before: int | None, limit: int) -> list[RevisionAnswer]:
    """Revisions of the cluster, latest first; before: only numbers below it."""
    found = ConfigRevision.objects.filter(cluster=cluster).prefetch_related("rollouts").order_by("-number")
    if before is not None:
        found = found.filter(number__lt=before)
    names, instances = backend_names(cluster=cluster), list(cluster.instances.all())
    return [_revision(revision, names, instances) for revision in found[:limit]]


def revision_detail(*, revision: ConfigRevision) -> RevisionDetail:
    """One revision with what it changed in every pgpool.conf, and the whole text of each."""
    pairs = [(file, _earlier(revision, file)) for file in revision.files.order_by("instance_name")]
    instances = list(revision.cluster.instances.all())
    return {
        **_revision(revision, backend_names(cluster=revision.cluster), instances),
        "changes": [change for file, earlier in pairs for change in _changes(file, earlier)],
        "files": [_file(file, earlier) for file, earlier in pairs],
        "carried": whole_revisions.carried_from(revision, instances),
    }


def rollout_diffs(*, rollout: Rollout, is_back: bool = False) -> list[FileDiff]:
    """What the rollout carries to each pgpool against what was found there; is_back: what rolling it back would.

    Without those that owe it. Once it has ended, without those where nothing was written, unless that is all of them.
    """
    if is_back:
        files = [step.file for step in _steps(rollout) if debts.is_taken_back(step)]
        return [file_diff(file.instance_name, file.text, file.base_text) for file in files]
    steps = [step for step in _steps(rollout) if step.state != RolloutStep.State.OWED]
    return [_carried_diff(step.file) for step in [step for step in steps if not _is_passed_by(step)] or steps]


def passed_by(*, rollout: Rollout) -> list[str]:
    """The pgpools on which a rollout that has ended wrote nothing, by name; those that owe it are told elsewhere."""
    return [step.instance_name for step in _steps(rollout) if _is_passed_by(step)]


def _is_passed_by(step: RolloutStep) -> bool:
    # An adoption shows what was edited by hand, which it writes nowhere.
    if step.rollout.revision.origin == ConfigRevision.Origin.ADOPTED:
        return False
    return step.written_at is None and step.state in {RolloutStep.State.SKIPPED, RolloutStep.State.FAILED}


def owed_diffs(*, rollout: Rollout) -> list[OwedDiff]:
    """What the rollout did not write where nobody could be reached, against what was known to stand there."""
    steps = [step for step in _steps(rollout) if step.state == RolloutStep.State.OWED]
    owed = debts_of_steps(rollouts=[rollout])
    return [{**_carried_diff(step.file), "debt": owed.get(step.pk)} for step in steps]


def _steps(rollout: Rollout) -> QuerySet[RolloutStep]:
    return rollout.steps.select_related("file", "debt", "rollout__revision").order_by("position")


def _carried_diff(file: RevisionFile) -> FileDiff:
    return file_diff(file.instance_name, file.base_text, file.text)


def _revision(
    revision: ConfigRevision, names: weight_words.Names, instances: Sequence[PgpoolInstance]
) -> RevisionAnswer:
    weights = whole_revisions.weights_of(revision, instances)
    return {
        "id": revision.pk,
        "number": revision.number,
        "origin": revision.origin,
        "origin_text": revision.get_origin_display(),
        "note": revision.note,
        "author": revision.author_name,
        "created_at": revision.created_at,
        "weights": weights,
        "weights_text": weight_words.shares_text(weights, names),
        "integers_text": weight_words.integers_text(weights),
        "parameters": revision.parameter_names,
        "parameters_text": weight_words.names_text(revision.parameter_names),
        "rollouts": sorted(rollout.pk for rollout in revision.rollouts.all()),
    }


def _earlier(revision: ConfigRevision, file: RevisionFile) -> RevisionFile | None:
    """The same pgpool in the latest revision before this one; by its name once it is no longer registered."""
    found = RevisionFile.objects.filter(revision__cluster=revision.cluster_id, revision__number__lt=revision.number)
    is_same = {"instance_name": file.instance_name} if file.instance_id is None else {"instance_id": file.instance_id}
    return found.filter(**is_same).select_related("revision").order_by("-revision__number").first()


def _changes(file: RevisionFile, earlier: RevisionFile | None) -> list[RevisionChange]:
    try:
        before = pgpool_conf.parse(file.base_text if earlier is None else earlier.text)
        changes = pgpool_conf.semantic_diff(before, pgpool_conf.parse(file.text))
    except (ConfigSyntaxError, IncludeUnsupported):
        return []  # the lines still tell
    return [
        {"instance": file.instance_name, "parameter": each.name, "before": each.before, "after": each.after}
        for each in changes
    ]


def _file(file: RevisionFile, earlier: RevisionFile | None) -> RevisionFileAnswer:
    return {
        **file_diff(file.instance_name, file.base_text if earlier is None else earlier.text, file.text),
        "compared_with": None if earlier is None else earlier.revision.number,
        "text": pgpool_conf.mask_secrets(file.text),
    }


def file_diff(instance_name: str, before: str, after: str) -> FileDiff:
    """One pgpool.conf against another, secrets masked."""
    lines: Sequence[PreviewLine] = preview_lines(before, after)
    return {"instance": instance_name, "changed_lines": changed_lines(lines), "lines": list(lines)}
