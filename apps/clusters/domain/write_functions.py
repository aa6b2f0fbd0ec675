"""Which functions write, from pg_proc and from their bodies, and what pgpool should be told of them.

With both function lists empty, pgpool goes by the volatility in the catalog: a function that writes and is not
VOLATILE is sent to standbys, and a VOLATILE one that only reads is kept on the primary. With a write_function_list it
asks the catalog no more, so the list has to name every function that writes, PostgreSQL's own ones too. A
read_only_function_list makes every other function a writing one, count() as well: none is ever proposed.
Source: Pgpool-II manual, "Load Balancing", write_function_list; what a trigger or an operator calls is not seen.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from pglast import parse_plpgsql
from pglast.parser import ParseError, parse_sql_json

from apps.clusters.domain.connection_trouble import quoted_identifier

CATALOG = "pg_catalog"
VOLATILE = "v"
VOLATILITIES: Mapping[str, str] = {"i": "IMMUTABLE", "s": "STABLE", "v": "VOLATILE"}
# VOLATILE ones of PostgreSQL that change nothing: each call gives something else, or takes its time.
_CATALOG_READERS = re.compile(
    r"random|random_normal|setseed|clock_timestamp|timeofday|gen_random_uuid|uuidv[47]|pg_sleep.*|pg_stat_get_.*"
    r"|pg_stat_file|pg_ls_.*|pg_read_.*|pg_show_.*|pg_hba_file_rules|pg_ident_file_mappings|pg_lock_status"
    r"|pg_relation_filenode|pg_control_.*|pg_current_logfile|pg_get_.*|pg_is_.*|pg_last_.*|pg_current_wal_.*"
    r"|pg_prepared_.*|pg_cursor|pg_backend_pid|pg_safe_snapshot_blocking_pids|pg_blocking_pids|pg_isolation_.*"
    r"|pg_database_size|pg_tablespace_size|pg_relation_size|pg_table_size|pg_indexes_size|pg_total_relation_size"
    r"|pg_column_.*|pg_config|pg_listening_channels|pg_notification_queue_usage|txid_status|pg_xact_status"
    r"|pg_get_wal_.*|.*_to_xml.*|query_to_xml.*|table_to_xml.*|cursor_to_xml.*|ts_stat|ts_rewrite|pg_timezone_.*"
)
# Statements inside a function that change nothing.
_READING = {
    "SelectStmt",
    "RawStmt",
    "VariableShowStmt",
    "DeclareCursorStmt",
    "FetchStmt",
    "ClosePortalStmt",
    "ReturnStmt",
}
_WRITING_PARTS = {"LockingClause": "locks rows (FOR UPDATE or FOR SHARE)", "IntoClause": "makes a table"}
_DYNAMIC = {"PLpgSQL_stmt_dynexecute", "PLpgSQL_stmt_dynfors"}
_PLAIN_NAME = re.compile(r"[a-z0-9_$]+")
_ASSIGNED = re.compile(r"^.*?(?::=|=)", re.DOTALL)
FULL, ASSIGNMENT = 0, 3


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


@dataclass
class _Body:
    """What stands in one body. writes: the first thing that does; unread: why something stays unknown."""

    writes: str = ""
    unread: str = ""
    calls: set[str] = field(default_factory=set)


def judge(functions: Sequence[Function]) -> list[Judged]:
    """Every function by its own body and by what it calls; in the order given."""
    bodies = [_body(one) for one in functions]
    by_name: dict[str, list[int]] = {}
    for position, one in enumerate(functions):
        by_name.setdefault(one.name, []).append(position)
    _pass_on(bodies, by_name, functions)
    changing = {one.name for one in functions if one.schema == CATALOG and one.volatility == VOLATILE}
    return [_judged(one, body, changing) for one, body in zip(functions, bodies, strict=True)]


def _pass_on(bodies: Sequence[_Body], by_name: Mapping[str, Sequence[int]], functions: Sequence[Function]) -> None:
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
                body.writes, is_changing = f"calls {functions[writer].name}, which writes", True
            elif unread is not None and not body.unread:
                body.unread, is_changing = f"calls {functions[unread].name}, which cannot be read", True


def _judged(function: Function, body: _Body, changing: AbstractSet[str]) -> Judged:
    if body.writes:
        return Judged(function, Verdict.WRITES, body.writes)
    if body.unread:
        return Judged(function, Verdict.UNKNOWN, body.unread)
    return Judged(function, Verdict.READS, "only reads", is_steady=not body.calls & changing)


def _body(function: Function) -> _Body:
    if function.schema == CATALOG:
        is_writer = function.volatility == VOLATILE and not _CATALOG_READERS.fullmatch(function.name)
        return _Body(writes="one of PostgreSQL's own, VOLATILE" if is_writer else "")
    if function.definition is None or function.language not in {"sql", "plpgsql"}:
        return _Body(unread=f"written in {function.language}, which cannot be read")
    body = _Body()
    try:
        if function.language == "sql":
            _read_sql_function(function.definition, body)
        else:
            _read_plpgsql(function.definition, body)
    except (ParseError, ValueError, RecursionError, KeyError) as error:
        body.unread = f"its body cannot be read: {str(error).splitlines()[0][:120] if str(error) else 'unknown form'}"
    return body


def _read_sql_function(definition: str, body: _Body) -> None:
    whole = json.loads(parse_sql_json(definition))
    [made] = [value for name, value in _nodes(whole) if name == "CreateFunctionStmt"]
    if "sql_body" in made:
        _read_nodes(made["sql_body"], body)
        return
    [texts] = [option for name, option in _nodes(made) if name == "DefElem" and option.get("defname") == "as"]
    _read_sql(next(value["sval"] for name, value in _nodes(texts) if name == "String"), body)


def _read_plpgsql(definition: str, body: _Body) -> None:
    for name, value in _nodes(parse_plpgsql(definition)):
        if name in _DYNAMIC:
            body.unread = "runs a statement that is put together while it runs (EXECUTE)"
        elif name in {"PLpgSQL_stmt_commit", "PLpgSQL_stmt_rollback"}:
            body.writes = body.writes or "ends transactions"
        elif name == "PLpgSQL_expr":
            mode, query = value.get("parseMode", FULL), str(value["query"])
            if mode == ASSIGNMENT:
                query = _ASSIGNED.sub("", query, count=1)
            _read_sql(query if mode == FULL else f"SELECT {query}", body)


def _read_sql(text: str, body: _Body) -> None:
    if text.strip():
        _read_nodes(json.loads(parse_sql_json(text)), body)


def _read_nodes(tree: Any, body: _Body) -> None:
    for name, value in _nodes(tree):
        if name == "FuncCall":
            body.calls.add(str(value["funcname"][-1]["String"]["sval"]))
        elif name in _WRITING_PARTS or name in {"lockingClause", "intoClause"}:
            body.writes = body.writes or _WRITING_PARTS[name[0].upper() + name[1:]]
        elif name.endswith("Stmt") and name[0].isupper() and name not in _READING:
            body.writes = body.writes or _statement_words(name)


def _statement_words(name: str) -> str:
    """InsertStmt -> runs INSERT; CreateTableAsStmt -> runs CREATE TABLE AS."""
    words = re.findall(r"[A-Z][a-z]*", name.removesuffix("Stmt"))
    return f"runs {' '.join(words).upper()}"


def _nodes(tree: Any) -> Iterator[tuple[str, Any]]:
    """Every name of the tree with what stands there."""
    left = [tree]
    while left:
        current = left.pop()
        if isinstance(current, dict):
            for name, value in current.items():
                yield name, value
                left.append(value)
        elif isinstance(current, list):
            left.extend(current)


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
