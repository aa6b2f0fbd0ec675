"""What a survey of functions proposes becomes part of the caller's draft."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from apps.accounts.access import Caller
from apps.accounts.roles import Role
from apps.clusters.control import draft_rows, drafts
from apps.clusters.control.draft_rows import Draft, Place
from apps.clusters.control.drafts import DraftChange
from apps.clusters.models import Cluster
from apps.clusters.queries.function_lists import ListProposal, list_proposals
from apps.clusters.queries.function_proposal import function_proposal


class NothingProposed(ValueError):
    """No survey proposes a list for these pgpools, or what stands there is not known."""


class DatabasesUnread(ValueError):
    """The list would send what writes in databases that nobody has read to standbys. names: of those databases."""

    def __init__(self, warning: str, names: Sequence[str]) -> None:
        super().__init__(warning)
        self.names = list(names)


def propose(*, cluster: Cluster, draft: Draft) -> list[ListProposal]:
    """Of all databases that were read; empty where there is nothing to propose."""
    wanted = function_proposal(cluster=cluster)["write_function_list"]
    return [] if wanted is None else list_proposals(cluster=cluster, draft=draft, write_function_list=wanted)


def add_to_draft(
    *,
    caller: Caller,
    cluster: Cluster,
    empties_read_only: bool = False,
    despite_unread: bool = False,
    expected: Collection[str] | None = None,
    now: datetime,
) -> Draft:
    """Draft the lists of every pgpool: once for all where they are alike, else one by one.

    empties_read_only: draft an empty read-only list as well where there is one, since pgpool looks at no other then.
    despite_unread: also where databases are known that no survey has read.
    Raises NothingProposed, DatabasesUnread, or what drafts.change does. The same again leaves the draft as it is.
    """
    caller.require(Role.OPERATOR)
    proposals = propose(cluster=cluster, draft=draft_rows.find(caller, cluster))
    if not proposals:
        raise NothingProposed("No survey of this cluster's functions proposes a list: have a database surveyed first.")
    found = function_proposal(cluster=cluster)
    if found["unread"] and not despite_unread:
        raise DatabasesUnread(found["warning"], found["unread"])
    unknown = [one["pgpool"] for one in proposals if one["proposed"] is None]
    if unknown:
        names = ", ".join(unknown)
        raise NothingProposed(f"What stands in the pgpool.conf of {names} is not known: wait until it was read.")
    values = {(one["pgpool"], one["parameter"]): one["proposed"] or "" for one in proposals}
    if empties_read_only:
        values |= {(one["pgpool"], one["read_only_parameter"]): "" for one in proposals if one["read_only"]}
    wanted = _change(values, [one["pgpool"] for one in proposals])
    return drafts.change(caller=caller, cluster=cluster, wanted=wanted, expected=expected, now=now)


def _change(values: Mapping[Place, str], pgpools: Sequence[str]) -> DraftChange:
    """A value that is alike everywhere is drafted for all; what was drafted of single pgpools went into it."""
    everywhere: dict[str, str] = {}
    own: dict[str, dict[str, str]] = {}
    drops: list[Place] = []
    for name in sorted({name for _, name in values}):
        found = {values.get((pgpool, name)) for pgpool in pgpools}
        [alike, *others] = found
        if alike is not None and not others:
            everywhere[name] = alike
            drops += [(pgpool, name) for pgpool in pgpools]
            continue
        drops.append(("", name))
        for pgpool in pgpools:
            if (pgpool, name) in values:
                own.setdefault(pgpool, {})[name] = values[pgpool, name]
    return DraftChange(parameters=everywhere, per_instance=own, drops=drops)
