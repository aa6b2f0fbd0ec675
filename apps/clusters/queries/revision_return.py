"""What going back to a revision would write, for its page and its address."""

from typing import Any, TypedDict

from apps.accounts.access import Caller
from apps.accounts.roles import Role
from apps.clusters.control import revision_return, weight_change
from apps.clusters.control.revisions import ConfigUnusable, Difference, WeightsRefused
from apps.clusters.control.rollout_rows import RolloutRunning
from apps.clusters.domain.rollout_waves import Absent
from apps.clusters.models import Cluster, ConfigRevision
from apps.clusters.queries.revision_history import FileDiff, file_diff

_LET_OWE = {"absent": Absent.OWE.value}


class ReturnAnswer(TypedDict):
    """can_return: whether this caller can have it rolled out now; reason: why not, else empty.

    unreached: which pgpool cannot be reached, else empty; then it goes by a plan that lets that one owe it, only.
    base: what to send with it; "live" where files were edited by hand, as the differences say: they are kept as a
    revision first. left_alone: pgpools of which the revision knows nothing. files: live files against those.
    """

    revision: int
    can_return: bool
    reason: str
    unreached: str
    base: str
    differences: list[Difference]
    left_alone: list[str]
    files: list[FileDiff]


def return_answer(*, caller: Caller, cluster: Cluster, revision: ConfigRevision) -> ReturnAnswer:
    if not caller.may(Role.OPERATOR):
        return _refused(revision, f"You have {caller.role} access; this needs the role operator.")
    try:
        return _possible(caller, cluster, revision)
    except ConfigUnusable as error:
        try:
            return {**_possible(caller, cluster, revision, plan=_LET_OWE), "unreached": str(error)}
        except (WeightsRefused, RolloutRunning):
            return _refused(revision, str(error))
    except (WeightsRefused, RolloutRunning) as error:
        return _refused(revision, str(error))


def _possible(
    caller: Caller, cluster: Cluster, revision: ConfigRevision, *, plan: dict[str, Any] | None = None
) -> ReturnAnswer:
    """Raises what revision_return.request_return would, but BaseChanged."""
    base, differences = weight_change.KNOWN, list[Difference]()
    try:
        files = revision_return.new_files(caller=caller, cluster=cluster, revision=revision, plan=plan)
    except weight_change.BaseChanged as error:
        base, differences = weight_change.LIVE, list(error.differences)
        files = revision_return.new_files(caller=caller, cluster=cluster, revision=revision, base=base, plan=plan)
    names = {file.instance.name for file in files}
    every = cluster.instances.order_by("name").values_list("name", flat=True)
    return {
        "revision": revision.number,
        "can_return": True,
        "reason": "",
        "unreached": "",
        "base": base,
        "differences": differences,
        "left_alone": [name for name in every if name not in names],
        "files": [file_diff(file.instance.name, file.base.text, file.text) for file in files],
    }


def _refused(revision: ConfigRevision, reason: str) -> ReturnAnswer:
    return {
        "revision": revision.number,
        "can_return": False,
        "reason": reason,
        "unreached": "",
        "base": weight_change.KNOWN,
        "differences": [],
        "left_alone": [],
        "files": [],
    }
