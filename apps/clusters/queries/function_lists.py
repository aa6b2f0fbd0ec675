"""What a survey of functions proposes for the lists of each pgpool, taken into what stands or is drafted there."""

from typing import TypedDict

from apps.clusters.control.draft_rows import Draft
from apps.clusters.domain.function_lists import ListNames, list_names, merged, missing
from apps.clusters.models import Cluster
from apps.clusters.queries.standing import Standing, standing


class ListProposal(TypedDict):
    """One pgpool. parameter, read_only_parameter: as its version calls the lists.

    standing: what is drafted, else what its file says; null where that is not known. proposed: standing with the
    items that are missing behind it, added: how many. read_only: what makes a write list useless while it is not empty.
    """

    pgpool: str
    parameter: str
    standing: str | None
    proposed: str | None
    added: int
    read_only_parameter: str
    read_only: str | None


def list_proposals(*, cluster: Cluster, draft: Draft, write_function_list: str) -> list[ListProposal]:
    """One of each pgpool, in the order of their names."""
    stands = standing(cluster=cluster, draft=draft)
    return [
        _proposal(name, list_names(version), version, stands, write_function_list)
        for name, version in cluster.instances.order_by("name", "pk").values_list("name", "version")
    ]


def _proposal(pgpool: str, names: ListNames, version: str, stands: Standing, wanted: str) -> ListProposal:
    there = stands.value(pgpool, names.write, version=version)
    return {
        "pgpool": pgpool,
        "parameter": names.write,
        "standing": there,
        "proposed": None if there is None else merged(there, wanted),
        "added": 0 if there is None else missing(there, wanted),
        "read_only_parameter": names.read_only,
        "read_only": stands.value(pgpool, names.read_only, version=version),
    }
