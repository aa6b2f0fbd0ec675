"""The TPC-C-like data and its transactions on a real PostgreSQL: rows, rules, and each rule broken by hand."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from psycopg import sql

from apps.benchmarks.drivers.driver import CannotPrepare
from apps.benchmarks.drivers.tpcc import conditions
from apps.benchmarks.drivers.tpcc.driver import Tpcc
from tests.benchmarks.tpcc_place import findings_of, here, made_here, wished

Session = psycopg.Connection[tuple[Any, ...]]
CONDITIONS = [f"consistency_{number}" for number in (1, 2, 3, 4)]


@pytest.fixture(scope="module")
def data(django_db_setup: None, django_db_blocker: Any) -> Iterator[dict[str, Any]]:
    """Where it is. Made once for all tests of this module: whoever changes its rows puts them back."""
    with django_db_blocker.unblock(), made_here() as place:
        yield place


LINES = "ARRAY[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15], array_fill({supplier}, ARRAY[15]), array_fill(2, ARRAY[15])"


@pytest.fixture
def session(data: dict[str, Any], db: None) -> Iterator[Session]:
    with psycopg.connect(**data, autocommit=True) as session:
        session.execute("SET search_path TO lifeguard_tpcc")
        yield session


def one(session: Session, statement: Any, *values: Any) -> Any:
    row = session.execute(statement, values or None).fetchone()
    return None if row is None else row[0]


def test_a_hundredth_of_the_data_has_a_hundredth_of_the_rows_and_all_that_must_hold_does(session: Session) -> None:
    counted = {
        name: one(session, sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(name)))
        for name in ("warehouse", "district", "customer", "history", "orders", "new_order", "item", "stock")
    }

    # 2 warehouses of 10 districts of 30 customers with an order each, of which the latest 3 of 10 wait.
    assert counted == {
        "warehouse": 2, "district": 20, "customer": 600, "history": 600, "orders": 600, "new_order": 180, "item": 1000,
        "stock": 2000,
    }  # fmt: skip
    assert one(session, "SELECT count(*) FROM order_line") == one(session, "SELECT sum(o_ol_cnt) FROM orders")
    assert one(session, "SELECT count(*) FROM orders WHERE (o_carrier_id IS NULL) <> (o_id > 21)") == 0
    assert one(session, "SELECT count(DISTINCT o_c_id) FROM orders WHERE o_w_id = 1 AND o_d_id = 1") == 30
    assert one(session, "SELECT sum(w_ytd) FROM warehouse") == one(session, "SELECT sum(h_amount) FROM history")
    assert one(session, "SELECT last_name(371)") == "PRICALLYOUGHT"
    assert 0 < one(session, "SELECT count(*) FROM stock WHERE s_data LIKE '%%ORIGINAL%%'") < 400
    found = findings_of(wished())
    assert {name: ok for name, (ok, _) in found.items()} == {
        **dict.fromkeys(CONDITIONS, True), "few_warehouses": False, "small_data": False
    }  # fmt: skip
    assert found["consistency_3"][1].startswith("Consistency condition 3 holds for 20 districts:")


@pytest.mark.parametrize(
    ("number", "breaking", "words"),
    [
        (1, "UPDATE warehouse SET w_ytd = 7 WHERE w_id = 2", "1 of 2 warehouses, first in warehouse 2 (W_YTD 7.00"),
        (1, "DELETE FROM district WHERE d_w_id = 1", "first in warehouse 1 (W_YTD 3000.00, sum(D_YTD) nothing)"),
        (
            2,
            "UPDATE district SET d_next_o_id = 40 WHERE d_w_id = 1 AND d_id = 7",
            "1 of 20 districts, first in district 7 of warehouse 1 (D_NEXT_O_ID 40, max(O_ID) 30, max(NO_O_ID) 30)",
        ),
        (
            2,
            "DELETE FROM new_order WHERE no_w_id = 2 AND no_d_id = 1 AND no_o_id = 30",
            "district 1 of warehouse 2 (D_NEXT_O_ID 31, max(O_ID) 30, max(NO_O_ID) 29)",
        ),
        (
            3,
            "DELETE FROM new_order WHERE no_w_id = 2 AND no_d_id > 8 AND no_o_id = 25",
            "2 of 20 districts, first in district 9 of warehouse 2 (NO_O_ID 22 to 30, count 8)",
        ),
        (
            4,
            "DELETE FROM order_line WHERE ol_w_id = 1 AND ol_d_id = 3 AND ol_o_id = 5 AND ol_number = 1",
            "1 of 20 districts, first in district 3 of warehouse 1 (sum(O_OL_CNT)",
        ),
        (4, "DELETE FROM order_line", "20 of 20 districts"),
    ],
)  # fmt: skip
def test_each_condition_that_is_broken_is_named_with_its_place(
    session: Session, number: int, breaking: Any, words: str
) -> None:
    with session.transaction(force_rollback=True):
        session.execute(breaking)
        found = conditions.look(session, watch=lambda: None)

    broken = [one for one in found if not one["ok"]]
    assert [one["check"] for one in broken] == [f"consistency_{number}"]
    assert f"condition {number} is VIOLATED in " in broken[0]["sentence"]
    assert words in broken[0]["sentence"]
    assert "take no figure of this run" in broken[0]["sentence"]


def test_what_is_violated_stands_first(session: Session) -> None:
    session.execute("UPDATE order_line SET ol_d_id = 11 WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = 1")
    try:
        assert next(iter(findings_of(wished()))) == "consistency_4"
    finally:
        session.execute("UPDATE order_line SET ol_d_id = 1 WHERE ol_d_id = 11")


def test_districts_in_which_no_order_waits_break_nothing_and_a_database_without_any_does(session: Session) -> None:
    with session.transaction(force_rollback=True):
        session.execute("DELETE FROM new_order WHERE no_d_id = 4")
        waiting = conditions.look(session, watch=lambda: None)
        session.execute("DELETE FROM district")
        empty = conditions.look(session, watch=lambda: None)

    assert [one["ok"] for one in waiting] == [True] * 4
    assert [one["ok"] for one in empty] == [False] * 4
    assert "there is no district any more" in empty[1]["sentence"]


def test_a_new_order_takes_its_number_its_stock_and_its_price(session: Session) -> None:
    lines = LINES.format(supplier=2)
    with session.transaction(force_rollback=True):
        session.execute("UPDATE stock SET s_quantity = CASE WHEN s_i_id = 1 THEN 12 ELSE 11 END")
        session.execute("UPDATE item SET i_price = 10")
        session.execute("UPDATE customer SET c_discount = 0.1; UPDATE warehouse SET w_tax = 0.05")
        session.execute("UPDATE district SET d_tax = 0.05")
        total = one(session, f"CALL new_order(1, 3, 7, 5, 0, {lines})")

        ordered = session.execute(
            "SELECT o_id, o_c_id, o_ol_cnt, o_all_local, o_carrier_id FROM orders"
            " WHERE o_w_id = 1 AND o_d_id = 3 ORDER BY o_id DESC LIMIT 1"
        ).fetchone()
        stocked = session.execute(
            "SELECT s_quantity, s_ytd, s_order_cnt, s_remote_cnt FROM stock WHERE s_w_id = 2 AND s_i_id <= 2"
            " ORDER BY s_i_id"
        ).fetchall()
        dist_infos = session.execute(
            "SELECT count(*), bool_and(ol_dist_info = s_dist_03) FROM order_line JOIN stock ON s_i_id = ol_i_id"
            " AND s_w_id = ol_supply_w_id WHERE ol_w_id = 1 AND ol_d_id = 3 AND ol_o_id = 31"
        ).fetchone()
        waits = one(session, "SELECT count(*) FROM new_order WHERE no_w_id = 1 AND no_d_id = 3 AND no_o_id = 31")
        following = one(session, "SELECT d_next_o_id FROM district WHERE d_w_id = 1 AND d_id = 3")

    assert str(total) == "99.00"  # 5 lines x 2 x 10.00, less 10 %, plus 10 %
    assert ordered == (31, 7, 5, 0, None)
    assert stocked == [(10, 2, 1, 1), (100, 2, 1, 1)]  # 12 - 2; 11 - 2 + 91
    assert (dist_infos, waits, following) == ((5, True), 1, 32)


def test_an_item_that_nobody_sells_leaves_nothing_of_its_order(session: Session) -> None:
    before = session.execute("SELECT * FROM district ORDER BY d_w_id, d_id").fetchall()

    total = one(session, f"CALL new_order(1, 3, 7, 15, 1, {LINES.format(supplier=1)})")

    assert total is None
    assert session.execute("SELECT * FROM district ORDER BY d_w_id, d_id").fetchall() == before
    assert one(session, "SELECT count(*) FROM orders") == 600
    assert one(session, "SELECT sum(s_order_cnt) FROM stock") == 0


def test_a_payment_is_counted_everywhere_and_told_of_customers_with_bad_credit(session: Session) -> None:
    with session.transaction(force_rollback=True):
        session.execute(
            "UPDATE customer SET c_last = 'BARBARBAR', c_first = c_id::text, c_credit = 'BC' WHERE c_id < 5"
        )
        session.execute("UPDATE customer SET c_last = 'ELSE' WHERE c_id >= 5")
        balance = one(session, "CALL payment(1, 2, 2, 5, 30, 0, 12345)")
        paid = session.execute(
            "SELECT c_id, c_payment_cnt, c_ytd_payment, length(c_data), left(c_data, 20) FROM customer"
            " WHERE c_w_id = 2 AND c_d_id = 5 AND c_payment_cnt > 1"
        ).fetchall()
        kept = session.execute(
            "SELECT h_c_id, h_c_w_id, h_w_id, h_d_id, h_amount FROM history ORDER BY h_amount DESC LIMIT 1"
        )
        told = kept.fetchone()
        by_number = one(session, "CALL payment(1, 2, 1, 2, 30, -1, 100)")
        conditions = one(session, "SELECT sum(w_ytd) - (SELECT sum(d_ytd) FROM district) FROM warehouse")

    # The second of four by first name, as 4 / 2 rounded up.
    assert (str(balance), str(by_number), conditions) == ("-133.45", "-11.00", 0)
    [(number, payments, so_far, length, begin)] = paid
    assert (number, payments, str(so_far), begin) == (2, 2, "133.45", "2 5 2 2 1 123.450000"[:20])
    assert 300 < length <= 500
    assert told is not None
    assert (*told[:4], str(told[4])) == (2, 2, 1, 2, "123.45")


def test_a_delivery_takes_what_waits_longest_in_each_district_and_leaves_out_where_nothing_does(
    session: Session,
) -> None:
    with session.transaction(force_rollback=True):
        session.execute("DELETE FROM new_order WHERE no_w_id = 1 AND no_d_id = 10")
        owed = one(session, "SELECT sum(ol_amount) FROM order_line WHERE ol_w_id = 1 AND ol_d_id < 10 AND ol_o_id = 22")
        delivered = one(session, "CALL delivery(1, 6)")
        left = session.execute(
            "SELECT DISTINCT no_d_id, min(no_o_id) OVER (PARTITION BY no_d_id) FROM new_order WHERE no_w_id = 1"
        )
        oldest = dict(left.fetchall())
        carried = one(session, "SELECT count(*) FROM orders WHERE o_w_id = 1 AND o_id = 22 AND o_carrier_id = 6")
        paid = one(session, "SELECT sum(c_balance + 10) FROM customer WHERE c_delivery_cnt = 1")
        undelivered = one(
            session,
            "SELECT count(DISTINCT ol_d_id) FROM order_line"
            " WHERE ol_w_id = 1 AND ol_o_id = 22 AND ol_delivery_d IS NULL",
        )

    assert delivered == 9
    assert oldest == dict.fromkeys(range(1, 10), 23)
    assert (carried, paid, undelivered) == (9, owed, 1)


def test_what_only_reads_says_so_and_needs_no_more(session: Session) -> None:
    functions = session.execute(
        "SELECT proname, prokind::text, provolatile::text FROM pg_proc"
        " WHERE pronamespace = 'lifeguard_tpcc'::regnamespace"
    )
    kinds = {name: (kind, volatility) for name, kind, volatility in functions}
    session.execute("SET default_transaction_read_only TO on")

    lines = session.execute("SELECT order_id, quantity FROM order_status(1, 1, 9, -1)").fetchall()
    same = session.execute("SELECT * FROM order_status(1, 1, 1, 8)").fetchall()
    level = one(session, "SELECT stock_level(1, 1, 101)")

    assert {name: kinds[name] for name in ("order_status", "stock_level", "customer_named")} == dict.fromkeys(
        ("order_status", "stock_level", "customer_named"), ("f", "s")
    )
    assert [kinds[name][0] for name in ("new_order", "payment", "delivery")] == ["p"] * 3
    assert 5 <= len(lines) <= 15
    assert {quantity for _, quantity in lines} == {5}
    assert [row[2] for row in same] == [lines[0][0]] * len(lines)  # customer 9 is the only one of the ninth name
    assert (
        one(
            session, "SELECT count(DISTINCT ol_i_id) FROM order_line WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id > 10"
        )
        == level
    )
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        session.execute("CALL delivery(1, 1)")


def test_data_of_another_size_is_not_that_of_the_run(session: Session) -> None:
    server, account = here()
    driver = Tpcc()

    assert driver.look(wished(), server, account).is_ready
    assert not driver.look(wished(warehouses=3), server, account).is_ready
    assert not driver.look(wished(size_percent=2), server, account).is_ready
    session.execute("UPDATE made SET made_by = made_by + 1")
    assert not driver.look(wished(), server, account).is_ready
    session.execute("UPDATE made SET made_by = made_by - 1")
    session.execute("ALTER TABLE made RENAME made_by TO made_in")
    assert not driver.look(wished(), server, account).is_ready
    session.execute("ALTER TABLE made RENAME made_in TO made_by")
    session.execute("ALTER TABLE made RENAME TO unmade")
    assert not driver.look(wished(), server, account).is_ready
    session.execute("ALTER TABLE unmade RENAME TO made")


def test_a_schema_of_another_role_is_told_with_what_mends_it(session: Session) -> None:
    server, account = here()
    session.execute("CREATE ROLE stranger LOGIN PASSWORD 'passes'")
    try:
        with pytest.raises(CannotPrepare, match="belongs to another role"):
            Tpcc().look(wished(), server, replace(account, username="stranger", password="passes"))
    finally:
        session.execute("DROP ROLE stranger")


def test_sessions_of_another_isolation_are_a_finding(session: Session) -> None:
    assert "isolation" not in findings_of(wished())
    change = sql.SQL("ALTER DATABASE {} {{}}").format(sql.Identifier(session.info.dbname)).as_string()
    session.execute(change.format("SET default_transaction_isolation TO 'repeatable read'").encode())
    try:
        ok, sentence = findings_of(wished())["isolation"]
    finally:
        session.execute(change.format("RESET default_transaction_isolation").encode())

    assert not ok
    assert "repeatable read" in sentence


def test_a_check_that_is_ended_ends_its_statement_too(data: Any, db: None) -> None:
    class Ended(Exception):
        pass

    def watch() -> None:
        raise Ended

    server, account = here()
    blocked = wished()
    with psycopg.connect(**data) as holder:
        holder.execute("LOCK TABLE lifeguard_tpcc.warehouse IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(Ended):
            Tpcc().check_data(blocked, server, account, watch=watch)


def test_a_database_without_it_cannot_be_checked(db: None) -> None:
    server, account = here()
    elsewhere = replace(account, database="postgres")

    assert not Tpcc().look(wished(), server, elsewhere).is_ready
    with pytest.raises(CannotPrepare, match=r"relation \"lifeguard_tpcc\.\w+\" does not exist"):
        Tpcc().check_data(wished(), server, elsewhere, watch=lambda: None)
