"""Revision 1: every pgpool.conf as it was found first, so that there is always a way back to it."""

from collections.abc import Sequence

from apps.accounts.access import Caller
from apps.clusters.control import revisions
from apps.clusters.control.revisions import LiveConfig, NewFile
from apps.clusters.control.verified_files import as_first_found
from apps.clusters.domain import pgpool_conf
from apps.clusters.models import Cluster, ConfigRevision, InstanceConfig
from apps.clusters.outside.delivery import LiveFile

NOTE = "as registered"


def is_due(cluster: Cluster) -> bool:
    """Whether the cluster has no revision yet."""
    return not cluster.revisions.exists()


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
    instances = [each for each in cluster.instances.order_by("name", "pk") if each.pk in texts]
    files = [NewFile(each, texts[each.pk], _as_it_was(each.pk, texts[each.pk])) for each in instances]
    if not files:
        return None
    return revisions.store(
        cluster=cluster, origin=ConfigRevision.Origin.LIVE, note=NOTE, author=caller.user, files=files
    )


def _first_texts(cluster: Cluster) -> dict[int, str]:
    configs = InstanceConfig.objects.filter(instance__cluster=cluster).defer("file_text")
    return {one.pk: one.first_text for one in configs if one.first_text and pgpool_conf.is_readable(one.first_text)}


def _as_it_was(instance_id: int, text: str) -> LiveFile:
    return LiveFile(text, as_first_found(instance_id, text).sha256, "", "")
