"""How often tables are written: from two samples, and since the statistics were reset."""

from apps.clusters.domain.table_writes import TableCount, writes_of


def count(oid: int, name: str, rows: int) -> TableCount:
    return TableCount(oid, "public", name, is_unlogged=False, rows_written=rows)


def test_rows_between_the_samples_and_since_the_reset() -> None:
    second = [count(1, "stock", 1_000), count(2, "orders", 9_000), count(3, "idle", 0)]

    found = writes_of({1: 900, 2: 9_000, 3: 0}, second, apart_s=10.0, counted_s=3600.0)

    assert [(one.name, one.rows_per_s, one.rows_per_s_since_reset) for one in found] == [
        ("stock", 10.0, 1_000 / 3600),  # (1000 - 900) / 10
        ("orders", 0.0, 2.5),  # 9000 / 3600
        ("idle", 0.0, 0.0),
    ]


def test_a_new_table_and_counters_that_fell_have_no_rate() -> None:
    second = [count(1, "reset", 5), count(2, "new", 7), count(3, "kept", 7)]

    found = writes_of({1: 900, 3: 7}, second, apart_s=10.0, counted_s=None)

    assert [(one.name, one.rows_per_s, one.rows_per_s_since_reset) for one in found] == [
        ("kept", 0.0, None), ("new", None, None), ("reset", None, None),
    ]  # fmt: skip
