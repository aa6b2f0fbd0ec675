"""Which functions write: read from their bodies and from what they call, beside how the catalog marks them."""

import re

import pytest

from apps.clusters.domain.write_functions import Function, Verdict, judge, pattern, propose


def made(name: str, body: str, *, language: str = "sql", volatility: str = "s", schema: str = "public") -> Function:
    text = f"CREATE FUNCTION {schema}.{name}() RETURNS int LANGUAGE {language} AS $f$ {body} $f$"
    return Function(schema, name, "", language, volatility, text)


def standard(body: str) -> Function:
    """As the SQL standard has it: the body is no text."""
    return Function("public", "f", "", "sql", "s", f"CREATE FUNCTION f() RETURNS int {body}")


NEXTVAL = Function("pg_catalog", "nextval", "regclass", "internal", "v")
RANDOM = Function("pg_catalog", "random", "", "internal", "v")
LOGS = made("logs", "insert into log values (1) returning 1")
PL = {"language": "plpgsql"}


@pytest.mark.parametrize(
    ("function", "verdict", "why"),
    [
        (made("f", "select 1"), "reads", "only reads"),
        (made("f", "select count(*) from t where a = (select max(b) from u)"), "reads", "only reads"),
        (made("f", "insert into t values (1) returning 1"), "writes", "runs INSERT"),
        (made("f", "with gone as (delete from t returning 1) select * from gone"), "writes", "runs DELETE"),
        (made("f", "select a from t for update"), "writes", "locks rows (FOR UPDATE or FOR SHARE)"),
        (made("f", "select 1 into elsewhere"), "writes", "makes a table"),
        (made("f", "create temp table x as select 1"), "writes", "runs CREATE TABLE AS"),
        (made("f", "select logs()"), "writes", "calls logs, which writes"),
        (made("f", "select nextval('s')::int"), "writes", "calls nextval, which writes"),
        (made("f", "begin return (select 1); end", **PL), "reads", "only reads"),
        (made("f", "declare x int; begin x := 1; select 2 into x; return x; end", **PL), "reads", "only reads"),
        (made("f", "begin update t set a = 1; return 1; end", **PL), "writes", "runs UPDATE"),
        (made("f", "declare x int; begin x := logs(); return x; end", **PL), "writes", "calls logs, which writes"),
        (made("f", "begin if logs() = 1 then return 1; end if; return 2; end", **PL), "writes", "calls logs"),
        (made("f", "begin perform logs(); return 1; end", **PL), "writes", "calls logs, which writes"),
        (made("f", "begin execute 'select 1'; return 1; end", **PL), "unknown", "runs a statement"),
        (made("f", "begin this is no plpgsql", **PL), "unknown", "its body cannot be read"),
        (made("f", "select from where"), "unknown", "its body cannot be read"),
        (Function("public", "f", "", "c", "v"), "unknown", "written in c, which cannot be read"),
        (standard("BEGIN ATOMIC DELETE FROM t; SELECT 1; END"), "writes", "runs DELETE"),
        (standard("RETURN 1 + 1"), "reads", "only reads"),
    ],
)  # fmt: skip
def test_a_body_is_read(function: Function, verdict: str, why: str) -> None:
    found = judge([NEXTVAL, RANDOM, LOGS, function])[-1]

    assert (found.verdict, found.why[: len(why)]) == (Verdict(verdict), why)


def test_what_is_called_is_followed_all_the_way_and_in_circles() -> None:
    circle = [made("a", "select b()"), made("b", "select a()"), made("c", "select d()"), made("d", "select logs()")]
    found = {one.function.name: one.verdict for one in judge([*circle, LOGS])}

    assert found == {"a": "reads", "b": "reads", "c": "writes", "d": "writes", "logs": "writes"}


def test_each_wrong_mark_has_the_statement_that_mends_it() -> None:
    functions = [
        LOGS,
        made("plain", "select 1", volatility="v"),
        made("dice", "select random()", volatility="v"),
        RANDOM,
    ]
    odd = Function("Shop", 'O"dd', "integer", "sql", "i", "CREATE FUNCTION f(int) RETURNS void AS 'delete from t'")
    found = {one.function.name: one.remedy for one in judge([*functions, odd])}

    assert found == {
        "logs": "ALTER FUNCTION public.logs() VOLATILE;",
        "plain": "ALTER FUNCTION public.plain() STABLE;",
        "dice": "",  # it only reads, but no two of its answers are the same
        "random": "",
        'O"dd': 'ALTER FUNCTION "Shop"."O""dd"(integer) VOLATILE;',
    }


def test_the_list_names_all_that_writes_and_is_made_of_regular_expressions() -> None:
    hidden = Function("public", "hidden$1", "", "c", "v")
    odd = Function("public", "Odd name", "", "sql", "s", "CREATE FUNCTION f() RETURNS void AS 'delete from t'")
    proposal = propose(judge([NEXTVAL, RANDOM, LOGS, hidden, odd, made("plain", "select 1", volatility="v")]))

    items = (proposal.write_function_list or "").split(",")
    assert items == ["hidden[$]1", "logs", "nextval", "pg_catalog[.].*", "public[.]hidden[$]1", "public[.]logs"]
    assert proposal.unlisted == ("public.Odd name()",)
    # pgpool puts ^ and $ around each item.
    assert all(re.compile(f"^{item}$") for item in items)
    assert re.fullmatch(pattern("a$b"), "a$b")
    assert not re.fullmatch(pattern("a$b"), "a")


def test_nothing_is_proposed_where_the_catalog_is_right() -> None:
    right = made("writes_and_says_so", "delete from t returning 1", volatility="v")

    assert propose(judge([NEXTVAL, right, made("reads", "select 1")])).write_function_list is None
