"""Whether two pgpools number the same backends alike; weights by node_id would mean different servers otherwise."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

Address: TypeAlias = tuple[str, int]


def differences(known: Mapping[int, Address], found: Mapping[int, Address]) -> Sequence[str]:
    """Sentences on every node_id that is another server at the further pgpool; none if both number alike.

    known: node_id -> (host, port) in the cluster. found: the same as the further pgpool shows it.
    """
    numbers: dict[Address | None, int] = {_canonical(address): node_id for node_id, address in known.items()}
    return [
        _difference(node_id, known.get(node_id), found.get(node_id), numbers)
        for node_id in sorted(known.keys() | found.keys())
        if _canonical(known.get(node_id)) != _canonical(found.get(node_id))
    ]


def in_the_cluster(known: Mapping[int, Address], found: Mapping[int, Address]) -> Mapping[int, int]:
    """node_id of a pgpool -> the cluster's node_id of the same server; without servers that the cluster lacks."""
    numbers = {_canonical(address): node_id for node_id, address in known.items()}
    places = {node_id: _canonical(address) for node_id, address in found.items()}
    return {node_id: numbers[place] for node_id, place in places.items() if place in numbers}


def _difference(
    node_id: int, expected: Address | None, seen: Address | None, numbers: Mapping[Address | None, int]
) -> str:
    if seen is None:
        return f"backend {node_id} ({_shown(expected)}) is missing here"
    other = numbers.get(_canonical(seen))
    here = f"backend {node_id} is {_shown(seen)} here"
    if other is not None and other != node_id:
        return f"{here}, which the cluster numbers {other}"
    if expected is None:
        return f"{here}, which the cluster does not have"
    return f"{here}, but {_shown(expected)} in the cluster"


def _canonical(address: Address | None) -> Address | None:
    return None if address is None else (address[0].lower().rstrip("."), address[1])


def _shown(address: Address | None) -> str:
    if address is None:
        return "unknown"
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
