"""What stands of a parameter at a pgpool: what the caller has drafted, else what its file says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from apps.clusters.control.draft_rows import Draft
from apps.clusters.domain.parameters import catalogue
from apps.clusters.models import Cluster
from apps.clusters.queries.configuration import configuration_answer


@dataclass(frozen=True)
class Standing:
    """seen: (pgpool, parameter) -> the value of its file, or its default where no line names it."""

    draft: Draft
    seen: Mapping[tuple[str, str], str | None]

    def value(self, pgpool: str, name: str, *, version: str) -> str | None:
        """None where it is not known. version: of the pgpool, empty where that is not known."""
        for values in (self.draft.per_instance.get(pgpool, {}), self.draft.parameters):
            if name in values:
                parameter = catalogue.for_version(version or None).find(name)
                default = parameter.default if parameter is not None else None
                return default if values[name] is None else values[name]
        return self.seen.get((pgpool, name))


def standing(*, cluster: Cluster, draft: Draft) -> Standing:
    answer = configuration_answer(cluster=cluster)
    seen = {(each["pgpool"], one["name"]): each["effective"] for one in answer["results"] for each in one["values"]}
    return Standing(draft, seen)
