"""Whether regcomp(3) takes a pattern: pgpool throws a pattern away that it cannot compile, and goes on without it.

pgpool compiles every item of a list as an extended expression between ^ and $, without regard to case.
"""

import re
from dataclasses import dataclass

MOST_REPETITIONS = 255  # RE_DUP_MAX, as far as POSIX promises
_INTERVAL = re.compile(r"\{(?P<least>[0-9]{0,5})(?P<comma>,(?P<most>[0-9]{0,5}))?\}")
_CLASSES = frozenset(
    {"alpha", "digit", "alnum", "upper", "lower", "space", "blank", "punct", "print", "graph", "cntrl", "xdigit"}
)
_REDIRECT = re.compile(r"(?P<name>.+):(?:primary|standby|[0-9]{1,3})(?:\((?:0(?:\.[0-9]+)?|1(?:\.0+)?|\.[0-9]+)\))?")


@dataclass(slots=True)
class _Scan:
    """Where a pattern is being read. nothing_to_repeat: no expression stands before the current place."""

    text: str
    position: int = 0
    groups: int = 0
    depth: int = 0
    nothing_to_repeat: bool = True


def items_of(text: str, separator: str) -> list[str]:
    """The items of a list as pgpool cuts it: a separator behind a backslash belongs to the item."""
    return [item.strip() for item in re.split(rf"(?<!\\){re.escape(separator)}", text)]


def pattern_trouble(pattern: str) -> str | None:
    """Why regcomp would not take it, in words; None if it would."""
    scan = _Scan(pattern)
    while scan.position < len(pattern):
        trouble = _step(scan)
        if trouble is not None:
            return trouble
    return "a ( is not closed" if scan.depth else None


def redirect_trouble(item: str) -> str | None:
    """The same for an item of a redirect list, as mydb:standby(0.3)."""
    match = _REDIRECT.fullmatch(item)
    if match is None:
        return "it is not name:primary, name:standby or name:<backend>, with a share such as (0.5) behind it if wanted"
    return pattern_trouble(match["name"])


def _step(scan: _Scan) -> str | None:
    sign = scan.text[scan.position]
    if sign == "\\":
        return _escape(scan)
    if sign == "[":
        return _bracket(scan)
    if sign in "*+?{":
        return _repetition(scan)
    scan.position += 1
    if sign == "(":
        scan.depth += 1
        scan.groups += 1
    elif sign == ")" and scan.depth:
        scan.depth -= 1
    scan.nothing_to_repeat = sign in "(|^"
    return None


def _escape(scan: _Scan) -> str | None:
    following = scan.text[scan.position + 1 : scan.position + 2]
    if not following:
        return "it ends with a backslash"
    # A group that is still open cannot be referred to either.
    if following in "123456789" and int(following) > scan.groups - scan.depth:
        return f"\\{following} refers to a group that is not there"
    scan.position += 2
    scan.nothing_to_repeat = False
    return None


def _repetition(scan: _Scan) -> str | None:
    sign = scan.text[scan.position]
    if scan.nothing_to_repeat:
        return f"nothing stands before {sign} that could be repeated"
    if sign != "{":
        scan.position += 1
        return None
    match = _INTERVAL.match(scan.text, scan.position)
    if match is None or not (match["least"] or match["comma"]):
        return "a { does not begin a repetition such as {2} or {1,3}"
    least, most = int(match["least"] or 0), int(match["most"] or match["least"] or 0)
    if max(least, most) > MOST_REPETITIONS:
        return f"{match[0]} repeats more than {MOST_REPETITIONS} times"
    if match["most"] and most < least:
        return f"{match[0]} begins with the larger figure"
    scan.position = match.end()
    return None


def _bracket(scan: _Scan) -> str | None:
    """A set such as [a-z], [^]x] or [[:alpha:]_]."""
    text, start = scan.text, scan.position
    position = start + 2 if text.startswith("[^", start) else start + 1
    first = position
    while position < len(text):
        if text[position] == "]" and position > first:
            scan.position, scan.nothing_to_repeat = position + 1, False
            return None
        named = re.compile(r"\[:(?P<name>[^:\]]*):\]").match(text, position)
        if named is not None:
            if named["name"] not in _CLASSES:
                return f"[:{named['name']}:] is no class"
            position = named.end()
            if text.startswith("-", position) and not text.startswith("-]", position):
                return "a class cannot begin a range"
            continue
        if text[position : position + 2] in {"[.", "[=", "[:"}:
            return f"a {text[position : position + 2]} is not closed"
        end = position + 2
        if text.startswith("-", position + 1) and end < len(text) and text[end] != "]":
            if text[end] < text[position] or text[end] == "[":
                return f"{text[position : end + 1]} is no range"
            position = end
        position += 1
    return "a [ is not closed"
