"""The configuration of several pgpools side by side: one row per parameter, with its value at each of them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from apps.clusters.domain import verification
from apps.clusters.domain.conf_secrets import MASK
from apps.clusters.domain.parameters import catalogue
from apps.clusters.domain.parameters.catalogue import Catalogue
from apps.clusters.domain.parameters.parameter import Parameter, same_value

UNKNOWN_GROUP = "unknown"
UNKNOWN_TITLE = "Not known to this version"


@dataclass(frozen=True)
class SeenPgpool:
    """A pgpool's configuration as it was seen latest.

    file: name -> value of its pgpool.conf, None where that could not be read. running: as PGPOOL SHOW ALL printed it.
    """

    name: str
    version: str
    file: Mapping[str, str] | None
    running: Mapping[str, str]

    @cached_property
    def catalogue(self) -> Catalogue:
        return catalogue.for_version(self.version or None)


@dataclass(frozen=True)
class Value:
    """One parameter at one pgpool. file: None where no line names it. effective: that, else what holds without a line.

    is_default: it is what holds without a line: the default, or for a numbered name the value of the one for all.

    is_waiting: the pgpool runs another value than its file says; None where one of both is not known.
    """

    pgpool: str
    file: str | None
    running: str | None
    effective: str | None
    is_default: bool
    is_waiting: bool | None


@dataclass(frozen=True)
class Row:
    """parameter: None for a name that no pgpool here knows. differs: whether two pgpools use different values."""

    name: str
    parameter: Parameter | None
    group: str
    values: tuple[Value, ...]
    differs: bool

    @property
    def is_changed(self) -> bool:
        return any(not value.is_default for value in self.values)


def titles(seen: Sequence[SeenPgpool]) -> dict[str, str]:
    """Group -> its title, in the order of the page."""
    found = {group.name: group.title for each in _catalogues(seen) for group in each.groups}
    return {**found, UNKNOWN_GROUP: UNKNOWN_TITLE}


def rows(seen: Sequence[SeenPgpool], *, node_ids: Collection[int]) -> list[Row]:
    """Every parameter that one of these pgpools knows, and every name that one of their files holds."""
    named = {name for each in seen for name in (*(each.file or ()), *each.running)}
    in_files = {name for each in seen for name in each.file or ()}
    found: dict[str, Row] = {}
    for known in _catalogues(seen):
        for family in known:
            for parameter in _of(family, known, named, node_ids):
                if parameter.name not in found:
                    found[parameter.name] = _row(parameter.name, parameter.group, seen)
    for name in sorted(in_files - found.keys()):
        found[name] = _row(name, UNKNOWN_GROUP, seen)
    order = list(titles(seen))
    return sorted(found.values(), key=lambda row: order.index(row.group))


def _catalogues(seen: Sequence[SeenPgpool]) -> list[Catalogue]:
    """Of the versions that run here, newest first."""
    versions = {each.catalogue.version: each.catalogue for each in seen}
    newest_first = sorted(versions, key=catalogue.VERSIONS.index, reverse=True)
    return [versions[version] for version in newest_first] or [catalogue.for_version(None)]


def _of(family: Parameter, known: Catalogue, named: Collection[str], node_ids: Collection[int]) -> Iterator[Parameter]:
    """A parameter as it is; one that takes a number once per backend, or per number that somebody names."""
    if family.numbered is None:
        yield family
        return
    bare = known.find(family.name)
    if bare is not None:
        yield bare
    numbers = {
        int(text)
        for name in named
        if name.startswith(family.name) and (text := name.removeprefix(family.name)).isdecimal() and len(text) < 4
    }
    if family.numbered == "backend" and bare is None:
        numbers |= set(node_ids)
    for number in sorted(numbers):
        one = known.find(f"{family.name}{number}")
        if one is not None:
            yield one


def _row(name: str, group: str, seen: Sequence[SeenPgpool]) -> Row:
    parameters = {each.name: each.catalogue.find(name) for each in seen}
    parameter = next((one for one in parameters.values() if one is not None), None)
    values = tuple(_value(name, parameters[each.name], each) for each in seen)
    return Row(name, parameter, group, values, _differs(parameter, values))


def _value(name: str, parameter: Parameter | None, seen: SeenPgpool) -> Value:
    in_file = None if seen.file is None else seen.file.get(name)
    running = seen.running.get(name)
    default = _without_a_line(name, parameter, seen)
    in_force = default if in_file is None else in_file
    effective = running if seen.file is None else in_force
    is_default = effective is None or (parameter is not None and same_value(parameter, effective, default))
    return Value(seen.name, in_file, running, effective, is_default, _is_waiting(name, parameter, in_file, running))


def _without_a_line(name: str, parameter: Parameter | None, seen: SeenPgpool) -> str | None:
    """The default; of health_check_period0 what health_check_period says, from which pgpool takes it."""
    bare = name.rstrip("0123456789")
    for_all = seen.catalogue.find(bare) if parameter is not None and bare != name else None
    if for_all is None:
        return None if parameter is None else parameter.default
    said = None if seen.file is None else seen.file.get(bare)
    return for_all.default if said is None else said


def _is_waiting(name: str, parameter: Parameter | None, in_file: str | None, running: str | None) -> bool | None:
    if in_file is None or running is None or running == MASK:
        return None
    if parameter is not None and same_value(parameter, in_file, running):
        return False
    return not verification.is_same_value(name, in_file, running)


def _differs(parameter: Parameter | None, values: Sequence[Value]) -> bool:
    known = [value.effective for value in values if value.effective is not None]
    return any(one != known[0] if parameter is None else not same_value(parameter, one, known[0]) for one in known[1:])
