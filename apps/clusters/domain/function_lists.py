"""The lists of functions in pgpool.conf: how each version calls them, and one list taken into another.

With a read_only_function_list pgpool counts every function as writing that it does not name, and a write_function_list
says nothing more. Source: Pgpool-II manual, "Load Balancing".
"""

from dataclasses import dataclass

from apps.clusters.domain.parameters import catalogue
from apps.clusters.domain.posix_patterns import items_of

SEPARATOR = ","


@dataclass(frozen=True, slots=True)
class ListNames:
    write: str
    read_only: str


def list_names(version: str) -> ListNames:
    """version: of pgpool, empty where it is not known. Before 4.2 they were black and white."""
    known = catalogue.for_version(version or None)
    if known.find("write_function_list") is None:
        return ListNames("black_function_list", "white_function_list")
    return ListNames("write_function_list", "read_only_function_list")


def merged(standing: str, proposed: str) -> str:
    """What stands there, as it stands there, and behind it what is proposed and missing."""
    there = [item for item in items_of(standing, SEPARATOR) if item]
    known = {item.casefold() for item in there}  # pgpool matches without regard to case
    more = [item for item in items_of(proposed, SEPARATOR) if item and item.casefold() not in known]
    return SEPARATOR.join([*there, *more])


def missing(standing: str, proposed: str) -> int:
    """How many items merged would add."""
    return len(items_of(merged(standing, proposed), SEPARATOR)) - len([one for one in items_of(standing, ",") if one])
