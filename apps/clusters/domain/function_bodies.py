"""What stands in the body of an SQL or PL/pgSQL function: what it calls, whether it writes, what cannot be read of it.

What a trigger, an operator, a cast, an aggregate or a view calls is not seen.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pglast import parse_plpgsql
from pglast.parser import ParseError, Token, parse_sql_json, scan

READ_LANGUAGES = frozenset({"sql", "plpgsql"})
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
# EXECUTE by itself and in a loop; RETURN QUERY and OPEN keep theirs under a name.
_DYNAMIC = {"PLpgSQL_stmt_dynexecute", "PLpgSQL_stmt_dynfors", "dynquery"}
_ENDING = {"PLpgSQL_stmt_commit", "PLpgSQL_stmt_rollback"}
# All whose expressions are PLpgSQL_expr and nothing else; of another one nobody knows what it does.
_KNOWN = _ENDING | {
    f"PLpgSQL_stmt_{name}"
    for name in (
        *("assert", "assign", "block", "call", "case", "close", "dynexecute", "dynfors", "execsql", "exit", "fetch"),
        *("forc", "foreach_a", "fori", "fors", "getdiag", "if", "loop", "open", "perform", "raise"),
        *("return", "return_next", "return_query", "while"),
    )
}
# How PL/pgSQL has an expression parsed (RawParseMode): a statement, what stands behind SELECT, target := value.
FULL, EXPRESSION, ASSIGNMENTS = 0, 2, {3, 4, 5}
_OPENING, _CLOSING = {"ASCII_40", "ASCII_91"}, {"ASCII_41", "ASCII_93"}
_END = "ASCII_59"
_GIVES = {"COLON_EQUALS", "ASCII_61"}
_COMMENTS = {"SQL_COMMENT", "C_COMMENT"}


@dataclass
class Body:
    """writes: the first thing that does, in words; unread: why something stays unknown. calls: names, no schemas."""

    writes: str = ""
    unread: str = ""
    calls: set[str] = field(default_factory=set)


def read_body(*, language: str, definition: str) -> Body:
    """definition: the statement that makes the function. language: one of READ_LANGUAGES."""
    body = Body()
    try:
        whole = json.loads(parse_sql_json(definition))
        [made] = [value for name, value in _nodes(whole) if name == "CreateFunctionStmt"]
        # A call that leaves an argument out runs what stands for it.
        _read_nodes(made.get("parameters", []), body)
        if "sql_body" in made:
            _read_nodes(made["sql_body"], body)
        elif language == "sql":
            _read_sql(_text_of(made), body)
        else:
            _read_plpgsql(definition, _text_of(made), body)
    except (ParseError, ValueError, RecursionError, KeyError, StopIteration) as error:
        words = str(error).splitlines()
        body.unread = f"its body cannot be read: {words[0][:120] if words else 'unknown form'}"
    return body


def _text_of(made: dict[str, Any]) -> str:
    [texts] = [option for name, option in _nodes(made) if name == "DefElem" and option.get("defname") == "as"]
    return next(str(value["sval"]) for name, value in _nodes(texts) if name == "String")


def _read_plpgsql(definition: str, text: str, body: Body) -> None:
    for name, value in _nodes(parse_plpgsql(definition)):
        if name in _DYNAMIC:
            body.unread = "runs a statement that is put together while it runs (EXECUTE)"
        elif name in _ENDING:
            body.writes = body.writes or "ends transactions"
        elif name.startswith("PLpgSQL_stmt_") and name not in _KNOWN:
            body.unread = body.unread or f"its body cannot be read: {name.removeprefix('PLpgSQL_stmt_')} is not known"
        elif name == "PLpgSQL_expr":
            _read_expression(str(value["query"]), value.get("parseMode", FULL), body)
    # The tree leaves out what a record is first given.
    for first_value in _first_values(text):
        _read_expression(first_value, EXPRESSION, body)


def _read_expression(query: str, mode: int, body: Body) -> None:
    if mode == FULL:
        _read_sql(query, body)
    elif mode == EXPRESSION:
        _read_sql(f"SELECT {query}", body)
    elif mode in ASSIGNMENTS:
        _read_assignment(query, body)
    else:
        raise ValueError(f"it holds an expression of the unknown kind {mode}")


def _read_assignment(query: str, body: Body) -> None:
    """target := value; a subscript of the target is an expression, too."""
    gives = _first_outside(_tokens(query), _GIVES)
    if gives is None:
        raise ValueError("an assignment without a value")
    target = query[: gives.start]
    if "[" in target:
        _read_sql(f"SELECT {target}", body)
    _read_sql(f"SELECT {query[gives.end + 1 :]}", body)


def _first_values(text: str) -> Iterator[str]:
    """What follows DEFAULT, := or = in every DECLARE section, cursors left out."""
    is_declaring = False
    declaration: list[Token] = []
    for token in _tokens(text):
        if token.name == "DECLARE" and not declaration:
            is_declaring = True
        elif token.name == "BEGIN_P" and not declaration:
            is_declaring = False
        elif token.name == _END:
            gives = _first_outside(declaration, _GIVES | {"DEFAULT", "CURSOR"})
            if gives is not None and gives.name != "CURSOR":
                yield text[gives.end + 1 : token.start]
            declaration = []
        elif is_declaring:
            declaration.append(token)


def _tokens(text: str) -> list[Token]:
    return [token for token in scan(text) if token.name not in _COMMENTS]


def _first_outside(tokens: list[Token], names: set[str]) -> Token | None:
    """The first of these that stands in no bracket."""
    depth = 0
    for token in tokens:
        depth += (token.name in _OPENING) - (token.name in _CLOSING)
        if not depth and token.name in names:
            return token
    return None


def _read_sql(text: str, body: Body) -> None:
    if text.strip():
        _read_nodes(json.loads(parse_sql_json(text)), body)


def _read_nodes(tree: Any, body: Body) -> None:
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
