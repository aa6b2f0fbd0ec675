"""Every place of a body where something can be called or put together while it runs; none of them is overlooked."""

import pytest

from apps.clusters.domain.write_functions import Function, Verdict, judge, propose

NEXTVAL = Function("pg_catalog", "nextval", "regclass", "internal", "v")
RANDOM = Function("pg_catalog", "random", "", "internal", "v")


def made(
    body: str, *, name: str = "f", arguments: str = "", returns: str = "int", language: str = "plpgsql"
) -> Function:
    text = f"CREATE FUNCTION {name}({arguments}) RETURNS {returns} LANGUAGE {language} AS $f$ {body} $f$"
    return Function("public", name, arguments, language, "v", text)


def verdict_of(function: Function, *others: Function) -> tuple[Verdict, str]:
    found = judge([NEXTVAL, RANDOM, *others, function])[-1]
    return found.verdict, found.why


@pytest.mark.parametrize(
    ("body", "returns"),
    [
        ("begin execute 'insert into t values (1)'; return 1; end", "int"),
        ("declare x int; begin execute 'insert into t values (1) returning 1' into x; return x; end", "int"),
        ("begin return query execute 'insert into t values (1) returning 1'; end", "setof int"),
        ("begin return query execute 'insert into t values ($1) returning 1' using 1; end", "setof int"),
        ("declare c refcursor; begin open c for execute 'insert into t values (1) returning 1'; return c; end",
         "refcursor"),
        ("declare c refcursor; begin open c scroll for execute 'delete from t' using 1; return c; end", "refcursor"),
        ("declare r record; begin for r in execute 'delete from t returning 1' loop null; end loop; return 1; end",
         "int"),
        ("begin return 1; exception when others then execute 'delete from t'; return 2; end", "int"),
    ],
)  # fmt: skip
def test_what_is_put_together_while_it_runs_is_never_called_reading(body: str, returns: str) -> None:
    function = made(body, returns=returns)

    verdict, why = verdict_of(function)

    assert (verdict, "EXECUTE" in why) == (Verdict.UNKNOWN, True)
    [judged] = judge([function])
    assert judged.remedy == ""
    # One that is marked wrong makes a list worth while; this one is kept on the primary by it.
    wrong = Function("public", "w", "", "sql", "s", "CREATE FUNCTION w() RETURNS void LANGUAGE sql AS 'DELETE FROM t'")
    assert "f" in (propose(judge([wrong, function])).write_function_list or "").split(",")


WRITES = "nextval('s')"


@pytest.mark.parametrize(
    "body",
    [
        f"declare x int := {WRITES}; begin return x; end",
        f"declare x int default {WRITES}; begin return x; end",
        f"declare x constant record = {WRITES}; begin return 1; end",
        f"declare a int := 1; x my_type not null default {WRITES}; begin return 1; end",
        f"begin declare x record := {WRITES}; begin return 1; end; end",
        f"<<o>> declare x int; begin <<i>> declare y int; declare z record := {WRITES}; begin return 1; end; end",
        f"declare x int; begin x := {WRITES}; return x; end",
        f"declare x int; begin x = 1 from t where a = {WRITES}; return x; end",
        f"declare x int[]; begin x[{WRITES}] := 3; return 1; end",
        f"declare x int[]; begin x[1:{WRITES}] = array[1, 2]; return 1; end",
        f"declare x int[]; begin x[case when 1 = 2 then 1 else {WRITES} end] := 3; return 1; end",
        f"declare r record; begin r.a := {WRITES}; return 1; end",
        f"declare r record; begin r.a.b[{WRITES}].c := 2; return 1; end",
        f"<<o>> declare r record; begin o.r.a := {WRITES}; return 1; end",
        f"declare c cursor for select {WRITES}; begin open c; return 1; end",
        f"declare c cursor (k int) for select k; begin open c({WRITES}); return 1; end",
        f"declare c cursor (k int) for select k; begin open c(k := {WRITES}); return 1; end",
        f"declare c cursor (k int) for select k; begin for r in c({WRITES}) loop null; end loop; return 1; end",
        f"declare c refcursor; begin open c for select {WRITES}; return 1; end",
        f"declare c refcursor; x int; begin fetch absolute {WRITES} from c into x; return 1; end",
        f"declare c refcursor; begin move forward {WRITES} from c; return 1; end",
        f"declare r record; begin for r in select {WRITES} loop null; end loop; return 1; end",
        f"declare x int; begin foreach x in array array[{WRITES}] loop null; end loop; return 1; end",
        f"begin for i in 1..{WRITES} loop null; end loop; return 1; end",
        f"begin for i in reverse {WRITES}..1 by 2 loop null; end loop; return 1; end",
        f"begin for i in 1..9 by {WRITES} loop null; end loop; return 1; end",
        f"begin if {WRITES} = 1 then null; end if; return 1; end",
        f"begin if false then null; elsif {WRITES} = 1 then null; end if; return 1; end",
        f"begin if false then null; elsif true then perform {WRITES}; end if; return 1; end",
        f"begin if false then null; else perform {WRITES}; end if; return 1; end",
        f"begin case {WRITES} when 1 then null; end case; return 1; end",
        f"begin case 1 when {WRITES} then null; else null; end case; return 1; end",
        f"begin case when true then null; else perform {WRITES}; end case; return 1; end",
        f"begin while {WRITES} < 3 loop null; end loop; return 1; end",
        f"begin loop exit when {WRITES} > 3; end loop; return 1; end",
        f"begin loop perform {WRITES}; end loop; return 1; end",
        f"begin raise notice '%', {WRITES}; return 1; end",
        f"begin raise exception using message = {WRITES}; return 1; end",
        f"begin assert {WRITES} = 1; return 1; end",
        f"begin assert true, {WRITES}; return 1; end",
        f"begin return {WRITES}; end",
        f"begin return 1; exception when others then return {WRITES}; end",
        f"begin begin perform {WRITES}; end; return 1; end",
        f"declare x int; begin select {WRITES} into x; return x; end",
    ],
)  # fmt: skip
def test_a_call_is_seen_wherever_an_expression_stands(body: str) -> None:
    verdict, why = verdict_of(made(body))

    assert (verdict, why) == (Verdict.WRITES, "calls nextval, which writes")


@pytest.mark.parametrize(
    ("body", "returns"),
    [
        (f"begin return query select {WRITES}; end", "setof int"),
        (f"begin return next {WRITES}; return; end", "setof int"),
        (f"begin return query execute 'select 1' using {WRITES}; end", "setof int"),
        (f"declare r record; begin for r in execute 'x' using {WRITES} loop null; end loop; return 1; end", "int"),
        (f"declare c refcursor; begin open c for execute 'x' using {WRITES}; return 1; end", "int"),
        (f"begin execute 'x' using {WRITES}; return 1; end", "int"),
    ],
)
def test_what_a_dynamic_statement_is_given_is_read(body: str, returns: str) -> None:
    assert verdict_of(made(body, returns=returns))[0] == Verdict.WRITES


@pytest.mark.parametrize("language", ["sql", "plpgsql"])
def test_a_default_of_an_argument_runs_at_every_call_that_leaves_it_out(language: str) -> None:
    body = "select a" if language == "sql" else "begin return a; end"

    assert verdict_of(made(body, arguments=f"a int DEFAULT {WRITES}", language=language))[0] == Verdict.WRITES
    assert verdict_of(made(body, arguments="a int DEFAULT 3", language=language))[0] == Verdict.READS


@pytest.mark.parametrize(
    "body",
    [
        "declare r record; begin select 1 as a into r; r.a := r.a + 1; r.a = 3; return r.a; end",
        "<<o>> declare r record; begin o.r.a := 2; return 1; end",
        "declare r record; begin r.a[1].b := array_length(array[1], 1); return 1; end",
        "declare x int[]; begin x[1] := 2; x[2:3] := array[1, 2]; return x[1]; end",
        "declare s my_enum := 'open'; t record; begin s := 'shut'; return 1; end",
        'declare x text := \'a := nextval(1); b = c\'; "o=dd" int := 1; begin "o=dd" := 2; return 1; end',
        "declare c cursor for select 1 where 1 = 2; x int; begin open c; fetch c into x; close c; return x; end",
        "#variable_conflict use_column\ndeclare x int; -- := nextval('s');\nbegin return 1; end",
        "declare x int; begin get diagnostics x = row_count; return x; end",
    ],
)
def test_what_is_ordinary_is_read(body: str) -> None:
    assert verdict_of(made(body)) == (Verdict.READS, "only reads")


def test_what_writes_is_seen_beside_what_cannot_be_read() -> None:
    body = "declare x int; begin execute 'select 1'; insert into t values (1); return 1; end"

    assert verdict_of(made(body)) == (Verdict.WRITES, "runs INSERT")


@pytest.mark.parametrize(
    ("name", "volatility"),
    [
        ("txid_current", "s"),
        ("pg_current_xact_id", "s"),
        ("pg_walfile_name", "i"),
        ("pg_walfile_name_offset", "i"),
        ("pg_current_wal_lsn", "v"),
        ("pg_current_wal_insert_lsn", "v"),
        ("pg_current_wal_flush_lsn", "v"),
    ],
)
def test_what_a_standby_refuses_belongs_on_the_primary(name: str, volatility: str) -> None:
    refused = Function("pg_catalog", name, "", "internal", volatility)
    caller = Function("public", "f", "", "sql", "s", f"CREATE FUNCTION f() RETURNS text AS 'SELECT {name}()'")

    [own, judged] = judge([refused, caller])

    assert (own.verdict, judged.verdict, judged.why) == (
        Verdict.WRITES,
        Verdict.WRITES,
        f"calls {name}, which a standby refuses",
    )
    assert judged.remedy == "ALTER FUNCTION public.f() VOLATILE;"
    assert {name, "f"} <= set((propose([own, judged]).write_function_list or "").split(","))


@pytest.mark.parametrize(
    "name",
    ["nextval", "setval", "currval", "lastval", "pg_notify", "pg_switch_wal", "pg_create_restore_point", "set_config",
     "pg_backup_start", "pg_logical_emit_message", "pg_replication_slot_advance", "pg_export_snapshot", "lo_put",
     "pg_advisory_lock", "pg_try_advisory_xact_lock", "pg_reload_conf", "pg_terminate_backend", "pg_promote",
     "pg_stat_reset", "pg_log_standby_snapshot"],
)  # fmt: skip
def test_what_changes_something_belongs_on_the_primary(name: str) -> None:
    [own] = judge([Function("pg_catalog", name, "", "internal", "v")])

    assert own.verdict == Verdict.WRITES


@pytest.mark.parametrize(
    "name", ["pg_sleep", "random", "clock_timestamp", "pg_is_in_recovery", "pg_last_wal_replay_lsn"]
)
def test_what_a_standby_can_run_is_left_to_it(name: str) -> None:
    [own] = judge([Function("pg_catalog", name, "", "internal", "v")])

    assert own.verdict == Verdict.READS


@pytest.mark.parametrize("name", ["query_to_xml", "query_to_xmlschema", "ts_stat", "ts_rewrite"])
def test_a_function_that_runs_the_text_it_is_given_cannot_be_read(name: str) -> None:
    runner = Function("pg_catalog", name, "text", "internal", "v")

    assert verdict_of(made(f"begin return {name}('select nextval(1)'); end"), runner) == (
        Verdict.UNKNOWN,
        f"calls {name}, which cannot be read",
    )


def test_no_function_is_steady_that_calls_an_unsteady_one_at_any_depth() -> None:
    dice, twice = made("select random()", name="dice", language="sql"), made("begin return dice(); end", name="twice")

    found = {one.function.name: (one.verdict, one.remedy) for one in judge([RANDOM, twice, dice])}

    assert found["twice"] == found["dice"] == (Verdict.READS, "")
