"""Which parameters a version of pgpool knows: look-up by name, the nearest name, what became of a renamed one."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from apps.clusters.domain.parameters.parameter import Context, Kind, Parameter

VERSIONS = ("3.7", "4.0", "4.1", "4.2", "4.3", "4.4", "4.5", "4.6", "4.7")
# MAX_NUM_BACKENDS of pgpool; heartbeats may have 256, which nobody needs.
HIGHEST_NUMBER = 127

_NUMBERED_NAME = re.compile(r"(?P<family>.*?[A-Za-z_])(?P<number>0|[1-9][0-9]{0,2})")
_RELEASE = re.compile(r"(?:pgpool-II )?([0-9]{1,3})\.([0-9]{1,3})")
_NEAR = 0.72
_FIRST_WITH_UNITS = (4, 2)

# A release as a number that can be compared: (4, 3).
Release = tuple[int, int]
Facts = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Group:
    """Parameters that belong together; numbered ones stand once, under their name without a number."""

    name: str
    title: str
    parameters: tuple[Parameter, ...]


@dataclass(frozen=True, slots=True)
class Stranger:
    """A name that this version does not know, but another one does.

    since, until: the versions that know it, None for "from 3.7 on" and "up to now". renamed_to: its name here.
    is_still_accepted: pgpool takes the old name with a warning.
    """

    name: str
    since: str | None
    until: str | None
    renamed_to: str | None
    is_still_accepted: bool


class Catalogue:
    """The parameters of one version of pgpool."""

    def __init__(self, version: str, groups: tuple[Group, ...], strangers: Mapping[str, Facts]) -> None:
        self.version = version
        self.groups = groups
        self._families = {parameter.name: parameter for group in groups for parameter in group.parameters}
        self._strangers = strangers

    def __iter__(self) -> Iterator[Parameter]:
        return iter(self._families.values())

    def find(self, name: str) -> Parameter | None:
        """backend_weight2 as the weight of backend 2; backend_weight alone is no parameter, health_check_period is."""
        family = self._families.get(name)
        if family is not None:
            if family.numbered is None:
                return family
            return family.of_all() if family.is_bare else None
        match = _NUMBERED_NAME.fullmatch(name)
        family = self._families.get(match["family"]) if match else None
        if match is None or family is None or family.numbered is None or int(match["number"]) > HIGHEST_NUMBER:
            return None
        return family.of(int(match["number"]))

    def nearest(self, name: str) -> str | None:
        """The known name that this one was probably meant to be."""
        match = re.fullmatch(r"(?P<family>.*?)(?P<number>[0-9]{0,3})", name[:100], re.DOTALL)
        if match is None:
            return None
        written = match["family"].lower().replace("-", "_")
        found = get_close_matches(written, self._families, n=1, cutoff=_NEAR)
        family = self._families[found[0]] if found else None
        if family is None:
            return None
        if family.numbered and match["number"] and int(match["number"]) <= HIGHEST_NUMBER:
            return f"{family.name}{int(match['number'])}"
        return family.name if family.numbered is None or family.is_bare else f"{family.name}0"

    def stranger(self, name: str) -> Stranger | None:
        """What is known of a name that only other versions know."""
        if self.find(name) is not None:
            return None
        match = _NUMBERED_NAME.fullmatch(name)
        facts = self._strangers.get(name)
        number = ""
        if facts is None and match is not None:
            facts = self._strangers.get(match["family"])
            number = match["number"]
            if facts is None or not facts.get("numbered"):
                return None
        if facts is None:
            return None
        renamed_to = self._new_name(facts.get("renamed_to"), number)
        return Stranger(
            name, facts.get("since"), facts.get("until"), renamed_to, bool(facts.get("still_accepted", False))
        )

    def _new_name(self, family_name: str | None, number: str) -> str | None:
        family = self._families.get(family_name or "")
        if family is None:
            return None
        return f"{family.name}{number or 0}" if family.numbered else family.name


def for_version(version: str | None) -> Catalogue:
    """The catalogue of a version such as 4.3, 4.3.5 or "4.3.5 (tamahomeboshi)".

    An unknown version gets the nearest one that is known; of None, the newest.
    """
    match = _RELEASE.match(version or "")
    if match is None:
        return _catalogue(VERSIONS[-1])
    wanted = (int(match[1]), int(match[2]))
    older = [known for known in VERSIONS if _release(known) <= wanted]
    return _catalogue(older[-1] if older else VERSIONS[0])


def is_same_release(one: str, other: str) -> bool:
    """Whether both are of one release, as 4.3.5 and 4.3.12 of 4.3; an unknown version is of none."""
    found = _RELEASE.match(one), _RELEASE.match(other)
    return found[0] is not None and found[1] is not None and found[0].groups() == found[1].groups()


@cache
def _catalogue(version: str) -> Catalogue:
    release = _release(version)
    groups, strangers = [], {}
    for group_name, table in _tables().items():
        facts_of = {name: facts for name, facts in table.items() if isinstance(facts, dict)}
        known = {name: facts for name, facts in facts_of.items() if _is_known(facts, release)}
        strangers.update({name: facts for name, facts in facts_of.items() if name not in known})
        parameters = tuple(_parameter(name, group_name, facts, release) for name, facts in known.items())
        groups.append(Group(group_name, table["title"], parameters))
    return Catalogue(version, tuple(groups), strangers)


@cache
def _tables() -> dict[str, Facts]:
    files = Path(__file__).parent.glob("*.toml")
    tables = {file.stem: tomllib.loads(file.read_text(encoding="utf-8")) for file in files}
    return dict(sorted(tables.items(), key=lambda named: int(named[1]["position"])))


@cache
def _old_names() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for table in _tables().values():
        for name, facts in table.items():
            if isinstance(facts, dict) and "renamed_to" in facts:
                found[facts["renamed_to"]] = (*found.get(facts["renamed_to"], ()), name)
    return found


def _parameter(name: str, group: str, facts: Facts, release: Release) -> Parameter:
    facts = dict(facts)
    # Newest first, so that the oldest one that holds has the last word.
    for version, older_facts in sorted(
        facts.pop("before", {}).items(), key=lambda pair: _release(pair[0]), reverse=True
    ):
        if release < _release(version):
            facts.update(older_facts)
    return Parameter(
        name=name,
        kind=Kind(facts["kind"]),
        group=group,
        context=Context(facts["context"]),
        meaning=facts["meaning"],
        default=facts.get("default"),
        minimum=facts.get("minimum"),
        maximum=facts.get("maximum"),
        choices=tuple(facts.get("choices", ())),
        unit=facts.get("unit"),
        takes_units=release >= _FIRST_WITH_UNITS,
        separator=facts.get("separator", ","),
        takes_spaces=facts.get("takes_spaces", False),
        has_patterns=facts.get("patterns", False),
        is_octal=facts.get("octal", False),
        is_secret=facts.get("secret", False),
        numbered=facts.get("numbered") or None,
        is_bare=facts.get("bare", False),
        renamed_from=_old_names().get(name, ()),
    )


def _is_known(facts: Facts, release: Release) -> bool:
    since, until = facts.get("since"), facts.get("until")
    return (since is None or _release(since) <= release) and (until is None or release <= _release(until))


def _release(version: str) -> Release:
    major, minor = version.split(".")
    return int(major), int(minor)
