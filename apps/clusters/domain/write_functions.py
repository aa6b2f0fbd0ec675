"""Which functions write, from pg_proc and from their bodies, and what pgpool should be told of them.

With both function lists empty, pgpool goes by the volatility in the catalog: a function that writes and is not
VOLATILE is sent to standbys, and a VOLATILE one that only reads is kept on the primary. With a write_function_list it
asks the catalog no more, so the list has to name every function that writes, PostgreSQL's own ones too. A
read_only_function_list makes every other function a writing one, count() as well: none is ever proposed.
Source: Pgpool-II manual, "Load Balancing", write_function_list.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import StrEnum

from apps.clusters.domain.connection_trouble import quoted_identifier
from apps.clusters.domain.function_bodies import READ_LANGUAGES, Body, read_body
from apps.clusters.domain.postgres_functions import CATALOG, REFUSED_BY_STANDBYS, runs_text, why_primary

VOLATILE = "v"
VOLATILITIES: Mapping[str, str] = {"i": "IMMUTABLE", "s": "STABLE", "v": "VOLATILE"}
_PLAIN_NAME = re.compile(r"[a-z0-9_$]+")


class Verdict(StrEnum):
    WRITES = "writes"
    READS = "reads"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Function:
    """A row of pg_proc. definition: as pg_get_functiondef prints it; None for what is not read, as C."""

    schema: str
    name: str
    arguments: str
    language: str
    volatility: str
    definition: str | None = None
    is_procedure: bool = False

    @property
    def signature(self) -> str:
        return f"{self.schema}.{self.name}({self.arguments})"


@dataclass(frozen=True)
class Judged:
    """why: what it does, in words. is_steady: it calls nothing VOLATILE, as random(), so it may be called STABLE."""

    function: Function
    verdict: Verdict
    why: str
    is_steady: bool = True

    @property
    def is_marked_wrong(self) -> bool:
        """Writes though it is not VOLATILE: pgpool sends it to standbys, where it fails."""
        return self.verdict is Verdict.WRITES and self.function.volatility != VOLATILE

    @property
    def could_be_balanced(self) -> bool:
        return self.verdict is Verdict.READS and self.function.volatility == VOLATILE

    @property
    def remedy(self) -> str:
        """The statement that marks it as it is; empty where nothing is wrong with it."""
        mark = "VOLATILE" if self.is_marked_wrong else "STABLE" if self.could_be_balanced and self.is_steady else ""
        if not mark or self.function.is_procedure or self.function.schema == CATALOG:
            return ""
        one = self.function
        return f"ALTER FUNCTION {quoted_identifier(one.schema)}.{quoted_identifier(one.name)}({one.arguments}) {mark};"


def judge(functions: Sequence[Function]) -> list[Judged]:
    """Every function by its own body and by what it calls; in the order given."""
    bodies = [_body(one) for one in functions]
    by_name: dict[str, list[int]] = {}
    for position, one in enumerate(functions):
        by_name.setdefault(one.name, []).append(position)
    _pass_on(bodies, by_name, functions)
    unsteady = _unsteady(bodies, functions)
    return [_judged(one, body, unsteady) for one, body in zip(functions, bodies, strict=True)]


def _pass_on(bodies: Sequence[Body], by_name: Mapping[str, Sequence[int]], functions: Sequence[Function]) -> None:
    """A function does what those do that it calls, until nothing changes any more."""
    is_changing = True
    while is_changing:
        is_changing = False
        for body in bodies:
            if body.writes:
                continue
            called = [position for name in sorted(body.calls) for position in by_name.get(name, ())]
            writer = next((position for position in called if bodies[position].writes), None)
            unread = next((position for position in called if bodies[position].unread), None)
            if writer is not None:
                body.writes, is_changing = f"calls {functions[writer].name}, which {_does(functions[writer])}", True
            elif unread is not None and not body.unread:
                body.unread, is_changing = f"calls {functions[unread].name}, which cannot be read", True


def _does(writer: Function) -> str:
    is_refused = writer.schema == CATALOG and writer.name in REFUSED_BY_STANDBYS
    return "a standby refuses" if is_refused else "writes"


def _unsteady(bodies: Sequence[Body], functions: Sequence[Function]) -> set[str]:
    """Names of all that is, or calls at any depth, a VOLATILE one of PostgreSQL's own, as random()."""
    found = {one.name for one in functions if one.schema == CATALOG and one.volatility == VOLATILE}
    more = found
    while more:
        callers = {one.name for one, body in zip(functions, bodies, strict=True) if body.calls & more}
        more = callers - found
        found |= more
    return found


def _judged(function: Function, body: Body, unsteady: AbstractSet[str]) -> Judged:
    if body.writes:
        return Judged(function, Verdict.WRITES, body.writes)
    if body.unread:
        return Judged(function, Verdict.UNKNOWN, body.unread)
    return Judged(function, Verdict.READS, "only reads", is_steady=not body.calls & unsteady)


def _body(function: Function) -> Body:
    if function.schema == CATALOG:
        is_volatile = function.volatility == VOLATILE
        unread = "runs a statement that it is given" if is_volatile and runs_text(function.name) else ""
        return Body(writes=why_primary(function.name, is_volatile=is_volatile), unread=unread)
    if function.definition is None or function.language not in READ_LANGUAGES:
        return Body(unread=f"written in {function.language}, which cannot be read")
    return read_body(language=function.language, definition=function.definition)


@dataclass(frozen=True)
class Proposal:
    """write_function_list: None where the catalog is right as it is. unlisted: writers that no pattern can name."""

    write_function_list: str | None
    unlisted: tuple[str, ...]


def propose(judged: Sequence[Judged]) -> Proposal:
    """All that writes, and all that is VOLATILE and cannot be read, by name and by schema and name."""
    if not any(one.is_marked_wrong or one.could_be_balanced for one in judged if one.function.schema != CATALOG):
        return Proposal(None, ())
    named: set[str] = set()
    unlisted = []
    for one in judged:
        function = one.function
        is_listed = one.verdict is Verdict.WRITES or (
            one.verdict is Verdict.UNKNOWN and function.volatility == VOLATILE
        )
        if not is_listed or function.is_procedure:
            continue
        patterns = patterns_of(function.schema, function.name)
        if not patterns:
            unlisted.append(function.signature)
        named |= patterns
    if any(one.function.schema == CATALOG for one in judged):
        named.add(f"{CATALOG}[.].*")
    return Proposal(",".join(sorted(named)), tuple(sorted(unlisted)))


def patterns_of(schema: str, name: str) -> set[str]:
    """By name, and by schema and name; empty where no pattern can name it."""
    if not (_PLAIN_NAME.fullmatch(name) and _PLAIN_NAME.fullmatch(schema)):
        return set()
    return {pattern(name)} | (set() if schema == CATALOG else {f"{pattern(schema)}[.]{pattern(name)}"})


def pattern(name: str) -> str:
    """A list item that matches this name only; pgpool puts ^ before and $ after it itself.

    pgpool throws the whole list away when one item is no regular expression, so nothing but $ needs care here.
    """
    return name.replace("$", "[$]")
