"""A whole pgpool.conf before anything is touched: what pgpool would refuse, misread or pass over without a word."""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from apps.clusters.domain import pgpool_conf
from apps.clusters.domain.drift import WHOLE_FILE
from apps.clusters.domain.findings import Finding, error, shown, shown_name, warning
from apps.clusters.domain.parameters.catalogue import Catalogue
from apps.clusters.domain.pgpool_conf import PgpoolConf, Setting
from apps.clusters.domain.settings_together import check_together
from apps.clusters.domain.value_check import check_value, strange_sign

_FIRST_WORD = re.compile(r"[ \t]*(?P<name>[A-Za-z_][A-Za-z_0-9-]*)")
_WHERE_IT_BELONGS = "one setting per line, as name = 'value'"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a file is held against. connection_limits: node_id -> sessions that the backend lets others open."""

    catalogue: Catalogue
    node_ids: Collection[int]
    connection_limits: Mapping[int, int] = field(default_factory=dict)


def check_file(text: str, surroundings: Surroundings, *, tells_duplicates: bool = True) -> tuple[Finding, ...]:
    """All that is to be said about this text as a pgpool.conf, in the order of its lines."""
    strange = list(_strange_signs(text))
    if strange:
        return tuple(strange)
    unreadable = fault_of(text)
    if unreadable is not None:
        return (unreadable,)
    conf = pgpool_conf.parse(text)
    found = [*_settings(conf, surroundings), *(_duplicates(conf) if tells_duplicates else ())]
    found += check_together(conf, surroundings.catalogue, surroundings.node_ids, surroundings.connection_limits)
    return tuple(sorted(found, key=lambda finding: finding.line or 0))


def fault_of(text: str) -> Finding | None:
    """Why pgpool could not read this file as a whole, None if it could."""
    try:
        pgpool_conf.parse(text)
    except pgpool_conf.ConfigSyntaxError as fault:
        return _syntax(fault, text)
    except pgpool_conf.IncludeUnsupported as fault:
        return error("include", str(fault), "all settings in one file", fault.line_number)
    return None


def check_name(name: str, surroundings: Surroundings, *, line: int | None = None) -> Finding | None:
    """What is wrong with a name, None if this version knows it and it belongs to a registered backend."""
    catalogue = surroundings.catalogue
    parameter = catalogue.find(name)
    if parameter is None:
        return _unknown(name, catalogue, line)
    if parameter.numbered != "backend" or parameter.node_id is None or parameter.node_id in surroundings.node_ids:
        return None
    known = ", ".join(map(str, sorted(surroundings.node_ids))) or "none"
    message = f"{name}: there is no backend {parameter.node_id} in this cluster; registered are {known}"
    return error(name, message, f"a number among {known}, or no such line", line)


def _unknown(name: str, catalogue: Catalogue, line: int | None) -> Finding:
    stranger = catalogue.stranger(name)
    at = f"pgpool {catalogue.version}"
    if stranger is None:
        nearest = catalogue.nearest(name)
        message = f"{shown_name(name)} is no parameter; {at} would pass over it without a word"
        return error(shown_name(name), message, nearest or "a name of the Configuration page", line)
    if stranger.renamed_to is not None:
        message = f"{name} is called {stranger.renamed_to} since {_after(stranger.until)}"
        if stranger.is_still_accepted:
            return warning(name, f"{message}; {at} still takes the old name", stranger.renamed_to, line)
        return error(name, f"{message}; {at} would pass over the old name without a word", stranger.renamed_to, line)
    reach = f"only from {stranger.since} on" if stranger.since else f"only up to {stranger.until}"
    message = f"{name}: {at} does not know it; it is there {reach}"
    return error(name, message, "no such line for this version", line)


def _after(version: str | None) -> str:
    following = {"3.7": "4.0", "4.1": "4.2", "4.3": "4.4", "4.6": "4.7"}
    return following.get(version or "", version or "")


def _settings(conf: PgpoolConf, surroundings: Surroundings) -> Iterator[Finding]:
    for setting in conf.settings:
        finding = check_name(setting.name, surroundings, line=setting.line_number)
        if finding is not None:
            yield finding
        parameter = surroundings.catalogue.find(setting.name)
        if parameter is not None:
            yield from check_value(parameter, setting.value, line=setting.line_number)


def _duplicates(conf: PgpoolConf) -> Iterator[Finding]:
    latest: dict[str, Setting] = {setting.name: setting for setting in conf.settings}
    for setting in conf.settings:
        last = latest[setting.name]
        if setting is last:
            continue
        name = shown_name(setting.name)
        message = f"{name} stands on lines {setting.line_number} and {last.line_number}; pgpool uses the last one"
        if setting.value == last.value:
            yield warning(name, message, "one line", setting.line_number)
        else:
            yield error(
                name, message, f"only {shown(setting.name, last.value)}, or only the other", setting.line_number
            )


def _syntax(fault: pgpool_conf.ConfigSyntaxError, text: str) -> Finding:
    line = text.split("\n")[fault.line_number - 1]
    match = _FIRST_WORD.match(line)
    cure = _WHERE_IT_BELONGS
    if line.count("'") % 2:
        cure = "a quote at the end of the value too"
    elif line.lstrip().startswith("#"):
        cure = "a line break at the end of the file"
    return error(match["name"] if match else WHOLE_FILE, str(fault), cure, fault.line_number)


def _strange_signs(text: str) -> Iterator[Finding]:
    for number, line in enumerate(text.split("\n"), 1):
        sign = strange_sign(line.replace("\r", ""))
        if sign is not None:
            match = _FIRST_WORD.match(line)
            message = f"line {number} holds the sign {sign!a}, at which pgpool stops reading"
            yield error(match["name"] if match else WHOLE_FILE, message, "the line without it", number)
