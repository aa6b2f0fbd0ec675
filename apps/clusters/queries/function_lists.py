"""What a survey of functions proposes for the lists of each pgpool, taken into what stands or is drafted there."""

from collections.abc import Mapping
from typing import TypedDict

from apps.clusters.control.draft_rows import Draft
from apps.clusters.domain.function_lists import ListNames, list_names, merged, missing
from apps.clusters.domain.parameters import catalogue
from apps.clusters.models import Cluster
from apps.clusters.queries.configuration import configuration_answer


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
    seen = _seen(cluster)
    return [
        _proposal(name, list_names(version), version, draft, seen, write_function_list)
        for name, version in cluster.instances.order_by("name", "pk").values_list("name", "version")
    ]


def _proposal(
    pgpool: str,
    names: ListNames,
    version: str,
    draft: Draft,
    seen: Mapping[tuple[str, str], str | None],
    wanted: str,
) -> ListProposal:
    standing = _standing(pgpool, names.write, version, draft, seen)
    return {
        "pgpool": pgpool,
        "parameter": names.write,
        "standing": standing,
        "proposed": None if standing is None else merged(standing, wanted),
        "added": 0 if standing is None else missing(standing, wanted),
        "read_only_parameter": names.read_only,
        "read_only": _standing(pgpool, names.read_only, version, draft, seen),
    }


def _standing(
    pgpool: str, name: str, version: str, draft: Draft, seen: Mapping[tuple[str, str], str | None]
) -> str | None:
    for values in (draft.per_instance.get(pgpool, {}), draft.parameters):
        if name in values:
            parameter = catalogue.for_version(version or None).find(name)
            default = parameter.default if parameter is not None else None
            return default if values[name] is None else values[name]
    return seen.get((pgpool, name))


def _seen(cluster: Cluster) -> dict[tuple[str, str], str | None]:
    """(pgpool, parameter) -> the value of its file, or its default where no line names it."""
    answer = configuration_answer(cluster=cluster)
    return {(each["pgpool"], one["name"]): each["effective"] for one in answer["results"] for each in one["values"]}
