"""What going back to a revision would write, for its page and its address."""

from typing import TypedDict

from apps.clusters.control import revision_return, weight_change
from apps.clusters.control.revisions import Difference, WeightsRefused
from apps.clusters.models import Cluster, ConfigRevision
from apps.clusters.queries.revision_history import FileDiff, file_diff


class ReturnAnswer(TypedDict):
    """can_return: whether it can be rolled out now; reason: why not, else empty.

    base: what to send with it; "live" where files were edited by hand, as the differences say: they are kept as a
    revision first. left_alone: pgpools of which the revision knows nothing. files: live files against those.
    """

    revision: int
    can_return: bool
    reason: str
    base: str
    differences: list[Difference]
    left_alone: list[str]
    files: list[FileDiff]


def return_answer(*, cluster: Cluster, revision: ConfigRevision) -> ReturnAnswer:
    try:
        return _answer(cluster, revision, base=weight_change.KNOWN)
    except weight_change.BaseChanged as error:
        return _answer(cluster, revision, base=weight_change.LIVE, differences=error.differences)


def _answer(
    cluster: Cluster, revision: ConfigRevision, *, base: str, differences: list[Difference] | None = None
) -> ReturnAnswer:
    files, reason = [], ""
    try:
        files = revision_return.new_files(cluster=cluster, revision=revision, base=base)
    except WeightsRefused as error:
        reason = str(error)
    names = {file.instance.name for file in files}
    left_alone = [each for each in cluster.instances.order_by("name").values_list("name", flat=True) if files]
    return {
        "revision": revision.number,
        "can_return": not reason,
        "reason": reason,
        "base": base,
        "differences": differences or [],
        "left_alone": [name for name in left_alone if name not in names],
        "files": [file_diff(file.instance.name, file.base.text, file.text) for file in files],
    }
