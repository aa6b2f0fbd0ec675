"""Revision 1: every pgpool.conf as it was found first, so that there is always a way back to it.

It is stored as soon as every file was read once, or before the first change where that comes earlier. A pgpool that is
observe only has no file that could be read, and is left out; a cluster of such pgpools alone has no revision.
"""

from collections.abc import Collection, Mapping, Sequence

from django.db import transaction

from apps.accounts.access import Caller
from apps.accounts.models import User
from apps.clusters.control import revisions
from apps.clusters.control.revisions import LiveConfig, NewFile
from apps.clusters.control.verified_files import as_first_found
from apps.clusters.domain import pgpool_conf
from apps.clusters.models import Cluster, ConfigDraft, ConfigRevision, InstanceConfig, PgpoolInstance, RevisionFile
from apps.clusters.outside.delivery import LiveFile
from apps.live import events

NOTE = "as registered"


def is_due(cluster: Cluster) -> bool:
    """Whether the cluster has no revision yet."""
    return not cluster.revisions.exists()


def numbers_of(instances: Collection[PgpoolInstance]) -> dict[tuple[int, str], int]:
    """Instance id and hash of the file that it was registered with -> number of the revision that holds it."""
    files = RevisionFile.objects.filter(
        instance__in=instances, revision__number=1, revision__origin=ConfigRevision.Origin.LIVE
    )
    found = files.values_list("instance_id", "sha256", "revision__number")
    return {(pk, sha256): number for pk, sha256, number in found}


def due_cluster_ids(cluster_ids: Collection[int]) -> list[int]:
    """Those of these clusters that have no revision yet."""
    return list(Cluster.objects.filter(pk__in=cluster_ids, revisions=None).order_by("pk").values_list("pk", flat=True))


def store_found(*, cluster_id: int) -> ConfigRevision | None:
    """Once every file was read, while nobody asked for a change yet.

    None also while somebody else holds the cluster: a change of it stores the revision itself, else the next look does.
    """
    with transaction.atomic():
        free = Cluster.objects.select_for_update(no_key=True, skip_locked=True)
        cluster = free.filter(pk=cluster_id).first()
        if cluster is None or not is_due(cluster):
            return None
        readable = cluster.instances.exclude(delivery_kind=PgpoolInstance.Delivery.OBSERVE)
        # Before any text is opened: they are encrypted, and one file may be out of reach for weeks.
        if readable.exclude(config__file_sha256__gt="").exists():
            return None
        texts = _first_texts(cluster)
        if not texts or readable.exclude(pk__in=texts).exists():
            return None
        revision = _store(cluster, texts, author=None)
        # A draft that was begun before was begun on these files.
        ConfigDraft.objects.filter(cluster=cluster, base_revision=0).update(base_revision=revision.number)
        InstanceConfig.objects.filter(pk__in=texts).update(revision_number=revision.number)
        events.announce(f"cluster.{cluster.pk}", "event")
    return revision


def store(*, caller: Caller, cluster: Cluster, live: Sequence[LiveConfig] = ()) -> ConfigRevision | None:
    """Before the first change. live: the files as they stand now, which need not be those that were found first.

    None: there is a revision already, nothing is known of any file, or the live files are those that were found first
    and are about to be stored as such.
    """
    if not is_due(cluster):
        return None
    found = {config.instance.pk: config.file.text for config in live}
    first = _first_texts(cluster)
    if found and all(first.get(pk, text) == text for pk, text in found.items()):
        return None
    texts = found | first
    return _store(cluster, texts, author=caller.user) if texts else None


def _store(cluster: Cluster, texts: Mapping[int, str], *, author: User | None) -> ConfigRevision:
    """texts: by the key of the instance."""
    instances = cluster.instances.filter(pk__in=texts).order_by("name", "pk")
    files = [NewFile(each, texts[each.pk], _as_it_was(each.pk, texts[each.pk])) for each in instances]
    return revisions.store(cluster=cluster, origin=ConfigRevision.Origin.LIVE, note=NOTE, author=author, files=files)


def _first_texts(cluster: Cluster) -> dict[int, str]:
    configs = InstanceConfig.objects.filter(instance__cluster=cluster).defer("file_text")
    return {one.pk: one.first_text for one in configs if one.first_text and pgpool_conf.is_readable(one.first_text)}


def _as_it_was(instance_id: int, text: str) -> LiveFile:
    return LiveFile(text, as_first_found(instance_id, text).sha256, "", "")
