"""The registry as YAML: a plain text with what is registered, and nothing of YAML that could surprise.

No alias, no tag, no key twice, no date: a text is a text unless it is a whole number, true, false or null.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

LARGEST_BYTES = 1 << 20
MOST_CLUSTERS = 500
DEEPEST = 12
VERSION = 1
# NUL, and half a character: no database keeps them.
_BROKEN = re.compile("[\0\ud800-\udfff]")
_KEYS = ("lifeguard_registry", "clusters")
# A password 0123 or 1e5 stays what it is.
_RESOLVED = (
    ("tag:yaml.org,2002:bool", re.compile(r"true|false"), "tf"),
    ("tag:yaml.org,2002:null", re.compile(r"null|~|"), ["n", "~", ""]),
    ("tag:yaml.org,2002:int", re.compile(r"-?(?:0|[1-9][0-9]{0,17})"), "-0123456789"),
)


class RegistryUnreadable(ValueError):
    """This is no registry: the text says where and why."""


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers: dict[str, Any] = {}  # as yaml declares it; not those of its parent

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise RegistryUnreadable(f"{_place(key_node.start_mark)}: a name must be a text")
            if key in found:
                raise RegistryUnreadable(f"{_place(key_node.start_mark)}: {key!r} stands there twice")
            found[key] = self.construct_object(value_node, deep=True)
        return found


for _tag, _pattern, _first in _RESOLVED:
    _Loader.add_implicit_resolver(_tag, re.compile(f"^(?:{_pattern.pattern})$"), list(_first))


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def dump(clusters: Sequence[Mapping[str, Any]]) -> str:
    document = {"lifeguard_registry": VERSION, "clusters": [dict(cluster) for cluster in clusters]}
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)


def load(text: str) -> list[Mapping[str, Any]]:
    """The clusters that the text describes; what they hold is not looked at yet. Raises RegistryUnreadable."""
    if len(text.encode("utf-8", "replace")) > LARGEST_BYTES:
        raise RegistryUnreadable("the file is larger than 1 MiB")
    try:
        _refuse_surprises(text)
        found = yaml.load(text, Loader=_Loader)  # noqa: S506  # a SafeLoader that knows less
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise RegistryUnreadable(f"{_place(mark)}: {error.problem or error.context}") from error
    except yaml.YAMLError as error:
        raise RegistryUnreadable(f"this is no YAML text: {str(error).splitlines()[0]}") from error
    except RegistryUnreadable:
        raise
    except (ValueError, OverflowError) as error:  # characters and numbers that there are not
        raise RegistryUnreadable("this is no YAML text: it names a character or a number that there is not") from error
    return _clusters(found)


def _refuse_surprises(text: str) -> None:
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise RegistryUnreadable(f"{_place(event.start_mark)}: anchors and aliases are not taken here")
        if isinstance(event, yaml.NodeEvent) and getattr(event, "tag", None) is not None:
            raise RegistryUnreadable(f"{_place(event.start_mark)}: tags are not taken here")
        if isinstance(event, yaml.ScalarEvent) and _BROKEN.search(event.value):
            raise RegistryUnreadable(f"{_place(event.start_mark)}: holds a character that no text here may hold")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise RegistryUnreadable(f"{_place(event.start_mark)}: nested deeper than any registry is")


def _place(mark: Any) -> str:
    return "the file" if mark is None else f"line {mark.line + 1}, column {mark.column + 1}"


def _clusters(found: object) -> list[Mapping[str, Any]]:
    if not isinstance(found, dict) or not isinstance(found.get("clusters"), list):
        raise RegistryUnreadable(f"the file must hold lifeguard_registry: {VERSION} and a list called clusters")
    if unknown := sorted(set(found) - set(_KEYS)):
        raise RegistryUnreadable(f"{unknown[0]!r} is not known here; known are {', '.join(_KEYS)}")
    if found.get("lifeguard_registry") != VERSION or found.get("lifeguard_registry") is True:
        raise RegistryUnreadable(f"lifeguard_registry must be {VERSION}: the version of this format")
    clusters: list[Mapping[str, Any]] = found["clusters"]
    if len(clusters) > MOST_CLUSTERS:
        raise RegistryUnreadable(f"these are {len(clusters)} clusters; at most {MOST_CLUSTERS} stand in one file")
    for position, each in enumerate(clusters):
        if not isinstance(each, dict):
            raise RegistryUnreadable(f"clusters.{position}: each cluster must be described by names and values")
    return clusters
