"""What a revision says of every pgpool: its own files, and what was verified on the pgpools that it left alone."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from apps.clusters.control.verified_files import newest_files, verified_files
from apps.clusters.models import ConfigRevision, PgpoolInstance, RevisionFile


@dataclass(frozen=True)
class WholeFile:
    """The pgpool.conf of one instance in a revision. revision_number: of the revision that brought it there."""

    instance: PgpoolInstance
    text: str
    revision_number: int


def files_of(revision: ConfigRevision) -> dict[int, WholeFile]:
    """Instance id -> its file; pgpools that were registered since, or of which nothing was known then, are missing."""
    own = {file.instance_id: file.text for file in revision.files.defer("base_text")}
    instances = list(revision.cluster.instances.select_related("cluster__organisation").order_by("name", "pk"))
    others = [each for each in instances if each.pk not in own]
    found = {file.instance_id: (file.text, file.revision.number) for file in _found(others, up_to=revision.number)}
    verified = verified_files(others, up_to=revision.number)
    found |= {pk: (file.text, file.revision_number or revision.number) for pk, file in verified.items()}
    found |= {pk: (text, revision.number) for pk, text in own.items()}
    return {each.pk: WholeFile(each, *found[each.pk]) for each in instances if each.pk in found}


def weights_of(revision: ConfigRevision, instances: Collection[PgpoolInstance]) -> dict[str, dict[str, Any]]:
    """Instance name -> node_id -> weight, of all of these."""
    found = {name: file.revision.weights.get(name, {}) for name, file in _carried(revision, instances).items()}
    return dict(sorted({**found, **revision.weights}.items()))


def carried_from(revision: ConfigRevision, instances: Collection[PgpoolInstance]) -> dict[str, int]:
    """Names of the instances that it left alone -> number of the revision whose file stood there."""
    return {name: file.revision.number for name, file in sorted(_carried(revision, instances).items())}


def _carried(revision: ConfigRevision, instances: Collection[PgpoolInstance]) -> dict[str, RevisionFile]:
    """No text is opened: they are encrypted."""
    others = [each for each in instances if each.name not in revision.weights]
    files = (_found(others, up_to=revision.number), newest_files(others, up_to=revision.number))
    rows = [row for one in files for row in one.defer("text", "base_text").select_related("revision")]
    return {row.instance_name: row for row in rows}


def _found(instances: Collection[PgpoolInstance], *, up_to: int) -> QuerySet[RevisionFile]:
    """What was found there, where nothing was ever verified."""
    files = RevisionFile.objects.filter(
        instance__in=instances, revision__number__lte=up_to, revision__origin=ConfigRevision.Origin.LIVE
    )
    newest = files.order_by("instance_id", "-revision__number").distinct("instance_id")
    return newest.defer("base_text").select_related("revision")
