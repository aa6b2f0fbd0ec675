"""Wished-for parameters held against what pgpool does with them, before anything is touched."""

import math
from collections.abc import Mapping
from dataclasses import replace

from apps.clusters.domain import pgpool_conf
from apps.clusters.domain.edit_check import brought_in
from apps.clusters.domain.file_check import Surroundings, check_file, check_name
from apps.clusters.domain.findings import Finding, Severity, error, note, shown_name
from apps.clusters.domain.out_of_reach import runs_programs, why_out_of_reach
from apps.clusters.domain.parameters.catalogue import Catalogue
from apps.clusters.domain.parameters.parameter import Context, same_value
from apps.clusters.domain.value_check import check_value

MOST_PARAMETERS = 300
_OR_ADOPTED = "or the edit adopted first, on the page Drift"

# name -> value as it shall stand in the file, None for the default.
Wish = Mapping[str, str | None]


def read_wish(raw: object) -> tuple[dict[str, str | None], tuple[Finding, ...]]:
    """Parameters as JSON delivers them: a text, a figure, true or false, or null for the default."""
    if not isinstance(raw, Mapping):
        return {}, (error("parameters", "parameters is no object", 'an object such as {"delay_threshold": "1000"}'),)
    if len(raw) > MOST_PARAMETERS:
        return {}, (error("parameters", f"{len(raw)} parameters at once", f"at most {MOST_PARAMETERS}"),)
    wish: dict[str, str | None] = {}
    found = []
    for name, value in raw.items():
        text = _as_text(value)
        if text is None and value is not None:
            message = f"{shown_name(str(name))}: its value is no text and no figure"
            found.append(
                error(shown_name(str(name)), message, "a text, a figure, true or false, or null for the default")
            )
        else:
            wish[str(name)] = text
    return wish, tuple(found)


def check_wish(
    wish: Wish,
    surroundings: Surroundings,
    *,
    base: str | None,
    verified: str | None = None,
    may_run_programs: bool,
) -> tuple[Finding, ...]:
    """All that is to be said about these parameters, and about the file that would come of them.

    base: the pgpool.conf that they would change, None where it is not known. What is wrong there already and is not
    changed is told as a warning: it is nobody's fault now, and so is a parameter that stands there twice, of which the
    line that pgpool uses is the one to be changed. The file is held against the parameters that are right by
    themselves, so that one that is wrong hides nothing of the others.
    verified: the file that was verified before base was edited by hand, None where it was not: what came with the edit
    stays an error.
    """
    of_each = {name: _check_one(name, value, surroundings, may_run_programs) for name, value in wish.items()}
    found = [finding for said in of_each.values() for finding in said]
    right = {name: value for name, value in wish.items() if not any(map(_is_error, of_each[name]))}
    if base is None or (wish and not right):
        return tuple(found)
    before = check_file(base, surroundings)
    changed = changed_text(right, base, surroundings.catalogue)
    if changed is None:
        return (*found, *before)
    new = () if verified is None else brought_in(base, verified=verified, surroundings=surroundings)
    edited = {finding.parameter for finding in new}
    # What is only on two lines is adopted: whoever does looks at what counts.
    is_adoptable = bool(new) and not brought_in(
        base, verified=verified or "", surroundings=surroundings, tells_duplicates=False
    )
    said = {(finding.parameter, finding.message) for finding in found}
    stood = {(finding.parameter, finding.message) for finding in before}
    but_doubles = check_file(changed, surroundings, tells_duplicates=False)
    for finding in check_file(changed, surroundings):
        key = (finding.parameter, finding.message)
        if key not in said:
            is_double = finding not in but_doubles
            may_stay = is_double or not _is_touched(finding.parameter, right)
            if key in stood and finding.parameter not in edited and may_stay:
                finding = replace(finding, severity=_milder(finding.severity))
            elif is_double and is_adoptable and finding.parameter in edited:
                finding = replace(finding, suggestion=f"{finding.suggestion}, {_OR_ADOPTED}")
            found.append(finding)
    values = written_out(right, surroundings.catalogue)
    return (*found, *_restarts(values, pgpool_conf.parse(base), surroundings.catalogue))


def changed_text(wish: Wish, base: str, catalogue: Catalogue) -> str | None:
    """The file that would come of these parameters, None where pgpool.conf cannot hold it."""
    try:
        return pgpool_conf.parse(base).with_values(written_out(wish, catalogue)).text
    except (pgpool_conf.ConfigSyntaxError, pgpool_conf.IncludeUnsupported, pgpool_conf.UnwritableValue):
        return None


def written_out(wish: Wish, catalogue: Catalogue) -> dict[str, str]:
    """The values to write. A default is written too: children disagree about a line that is gone, until a restart."""
    values: dict[str, str] = {}
    for name, value in wish.items():
        parameter = catalogue.find(name)
        default = parameter.default if parameter is not None else None
        text = default if value is None else value
        if text is not None:
            values[name] = text
    return values


def effects(wish: Wish, catalogue: Catalogue) -> dict[str, str]:
    """name -> "restart", "reload" or "session" for the names that are known."""
    found = {name: catalogue.find(name) for name in wish}
    return {name: parameter.context.value for name, parameter in found.items() if parameter is not None}


def _check_one(name: str, value: str | None, surroundings: Surroundings, may_run_programs: bool) -> list[Finding]:
    wrong_name = check_name(name, surroundings)
    if wrong_name is not None and wrong_name.severity is Severity.ERROR:
        return [wrong_name]
    reason = why_out_of_reach(name)
    if reason is not None:
        return [error(name, reason, "another parameter")]
    if wrong_name is not None:
        # An old name that is still read: what may stand there is known under the new one alone.
        return [error(name, f"{wrong_name.message}; write it by its new name", wrong_name.suggestion or "its new name")]
    if runs_programs(name) and not may_run_programs:
        message = f"{name}: pgpool runs what stands there, so only an admin may change it"
        return [error(name, message, "ask an admin of the organisation")]
    parameter = surroundings.catalogue.find(name)
    if parameter is None:
        return []
    if value is None:
        if parameter.default is None:
            message = f"{name}: its default depends on how pgpool was packaged"
            return [error(name, message, "a value instead of null")]
        return []
    if "'" in value or value.endswith("\\"):
        message = f"{name}: pgpool.conf cannot hold a quote or a backslash at the end of a value"
        return [error(name, message, "the value without it")]
    return check_value(parameter, value)


def _restarts(values: Mapping[str, str], conf: pgpool_conf.PgpoolConf, catalogue: Catalogue) -> list[Finding]:
    found = []
    for name, value in values.items():
        parameter = catalogue.find(name)
        if parameter is None or parameter.context is not Context.RESTART:
            continue
        before = conf.get(name)
        if not same_value(parameter, parameter.default if before is None else before, value):
            found.append(note(name, f"{name} is read when pgpool starts: it waits for a restart of every pgpool"))
    return found


def _as_text(value: object) -> str | None:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        # str() refuses figures of more than 4300 digits.
        return str(value) if abs(value) < 10**30 else "9" * 31
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else str(value)
    return None


def _is_touched(parameter: str, wish: Wish) -> bool:
    family = parameter.rstrip("0123456789")
    return any(name == parameter or (name.rstrip("0123456789") == family == "backend_weight") for name in wish)


def _is_error(finding: Finding) -> bool:
    return finding.severity is Severity.ERROR


def _milder(severity: Severity) -> Severity:
    return Severity.WARNING if severity is Severity.ERROR else severity
