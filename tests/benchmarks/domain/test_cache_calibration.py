"""A calibration of the query cache: its plan, its script, and what its slices say."""

import random
from collections import Counter
from typing import Any

import pytest

from apps.benchmarks.domain import cache_calibration, cache_writes
from apps.benchmarks.domain.cache_calibration import LEVELS, PARAMETERS, Slice
from apps.benchmarks.domain.cache_sql import LOOK_UP, SQL, TOUCH, WRITE_SQL
from apps.benchmarks.domain.cache_writes import WriteSlice
from apps.benchmarks.domain.workload_parameters import ParameterRefused

AS_USUAL = {name: one.read(one.default) for name, one in PARAMETERS.items()}


def plan(duration_s: int = 180, **changes: Any) -> cache_calibration.Plan:
    return cache_calibration.plan({**AS_USUAL, **changes}, duration_s=duration_s, clients=4)


def test_as_many_whole_blocks_as_the_time_allows() -> None:
    assert (plan().blocks, plan(storage="both").blocks, plan(slice_s=10).blocks) == (5, 3, 1)
    assert plan().key_space == 100_000
    assert plan(scale=3).key_space == 300_000
    assert plan(key_space=7).key_space == 7


def test_the_least_time_is_enough_for_one_block() -> None:
    least_s = cache_calibration.least_duration_s(AS_USUAL)

    assert least_s == 39
    assert plan(duration_s=least_s).block_s + cache_calibration.STARTS_WITHIN_S <= least_s


def test_each_block_asks_every_side_at_every_level_in_an_order_of_its_own() -> None:
    chance = random.Random(3)
    blocks = [plan(storage="both").turns(number, chance) for number in range(40)]

    assert all(sorted(level for level, _ in block) == sorted(LEVELS) for block in blocks)
    assert all(sorted(sides) == ["memcached", "off", "shmem"] for block in blocks for _, sides in block)
    firsts = Counter(sides[0] for block in blocks for _, sides in block)
    assert min(firsts.values()) > 60  # of 280, a third each
    assert len({tuple(level for level, _ in block) for block in blocks}) > 30


def test_hot_and_cold_texts_differ_in_nothing_but_their_mark() -> None:
    script = plan().script

    assert script.endswith(f"{LOOK_UP} /* :mark */;\n")
    assert script.count("\\set mark") == 2
    assert "random(1000000001, 9999999999)" in script


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (" SELECT a\n FROM t\n WHERE k = :key ; ", "SELECT a FROM t WHERE k = :key"),
        ("with w as (select :key::int) select * from w", "with w as (select :key::int) select * from w"),
    ],
)
def test_a_select_is_kept_on_one_line(text: str, kept: str) -> None:
    assert SQL.read(text) == kept


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (7, "must be a SELECT of 1 to 5000 characters"),
        ("  ", "must be a SELECT"),
        ("SELECT :key" + "," * 5000, "5011 characters"),
        ("INSERT INTO t VALUES (:key)", "must begin with SELECT or WITH"),
        ("SELECT :keys", "must ask for :key"),
        ("SELECT x::key", "must ask for :key"),
        ("SELECT :key; SELECT 2", "';'"),
        ("SELECT :key -- all", "'--'"),
        ("SELECT :key /* all */", "'/*'"),
        ("SELECT :key \\gset", "without"),
        ("SELECT a FROM t WHERE k = :key AND m < :key_space", "must not have :key_space in it"),
        ("SELECT set_config('default_transaction_read_only', 'off', false), :key", "must not call set_config"),
    ],
)
def test_what_is_no_such_select_is_refused(value: object, words: str) -> None:
    with pytest.raises(ParameterRefused, match="sql: ") as refused:
        SQL.read(value)

    assert words in str(refused.value)


def turn(hits: int, selects: int, *, level: int = 600) -> list[cache_calibration.CachePointRow]:
    slices = [Slice("shmem", 2000.0, hits + selects, 0.5, hits, selects), Slice("off", 1000.0, 2000, 1.0)]
    return cache_calibration.points(2, level, slices)


def test_each_cache_is_paired_with_the_side_without_one() -> None:
    [point] = turn(600, 400)

    assert (point["hit_ratio"], point["tps"], point["no_cache_tps"]) == (0.6, 2000.0, 1000.0)
    assert (point["block"], point["level"], point["storage"]) == (2, 0.6, "shmem")
    assert cache_calibration.findings([point]) == []


def test_a_block_that_its_time_cut_short_is_told() -> None:
    [finding] = cache_calibration.findings(turn(600, 400), is_cut_short=True)

    assert (finding["check"], finding["ok"]) == ("cache_time", False)


@pytest.mark.parametrize(
    ("hits", "selects", "check", "words"),
    [
        (0, 0, "cache_asked", "counted no SELECT"),
        (0, 1000, "cache_answers", "answered none of these"),
        (300, 700, "cache_keeps", "Where 60% of the reads asked for a hot key, 30% were hits"),
    ],
)
def test_a_ratio_that_was_not_reached_says_why(hits: int, selects: int, check: str, words: str) -> None:
    [finding] = cache_calibration.findings(turn(hits, selects))

    assert (finding["check"], finding["ok"]) == (check, False)
    assert words in finding["sentence"]


def test_writes_are_an_arm_of_their_own_at_rising_rates() -> None:
    written = plan(writes_up_to_per_s=300)

    assert written.write_rates == (3, 9, 30, 95, 300)  # 300 by powers of the root of ten
    assert written.write_sql == TOUCH
    assert (written.blocks, plan().blocks) == (2, 5)
    assert written.sessions == 4 + 7  # one for every 50 per second, and one
    assert {rate for rate, _ in written.write_turns(random.Random(1))} == set(written.write_rates)
    assert plan().write_turns(random.Random(1)) == []
    assert cache_calibration.least_duration_s({**AS_USUAL, "writes_up_to_per_s": 300}) == 68  # 12 turns of both


def test_few_writes_have_fewer_rates() -> None:
    assert cache_writes.rates(10) == (1, 3, 10)
    assert cache_writes.rates(None) == ()


def test_a_select_of_ones_own_needs_its_write() -> None:
    own = {**AS_USUAL, "sql": "SELECT a FROM t WHERE k = :key", "writes_up_to_per_s": 30}

    with pytest.raises(ParameterRefused, match="write_sql: 'null' must be given beside a SELECT of your own"):
        cache_writes.check(own)
    cache_writes.check({**own, "write_sql": "UPDATE t SET a = a"})
    cache_writes.check({**own, "writes_up_to_per_s": None})


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("SELECT 1", "must begin with UPDATE or INSERT or DELETE or MERGE"),
        ("UPDATE t SET a = 1; DROP TABLE t", "';'"),
        ("TRUNCATE t", "must begin with UPDATE"),
    ],
)
def test_what_is_no_such_write_is_refused(value: str, words: str) -> None:
    with pytest.raises(ParameterRefused) as refused:
        WRITE_SQL.read(value)

    assert words in str(refused.value)


def test_no_more_keys_are_hot_than_there_are() -> None:
    with pytest.raises(ParameterRefused, match="hot_keys: '100' must be at most the 10 keys that there are"):
        cache_writes.check({**AS_USUAL, "key_space": 10})


def write_turn(*, made: float) -> list[cache_writes.CacheWriteRow]:
    on, off = WriteSlice("shmem", 2000.0, 300, 700, made, 2.5), WriteSlice("off", 1000.0, 0, 0, 98.0, 1.5)
    return cache_writes.rows(1, 100, [off, on])


def test_each_cache_is_paired_under_writes_too() -> None:
    [row] = write_turn(made=97.0)

    assert (row["hit_ratio"], row["tps"], row["no_cache_tps"]) == (0.3, 2000.0, 1000.0)
    assert (row["writes_per_s"], row["no_cache_writes_per_s"]) == (97.0, 98.0)
    assert (row["write_latency_ms"], row["no_cache_write_latency_ms"]) == (2.5, 1.5)
    assert cache_writes.findings([row]) == []


def test_the_hot_text_is_that_of_the_script() -> None:
    hot = plan().hot_select(7)

    assert hot == "SELECT abalance FROM pgbench_accounts WHERE aid = 7 /* 1000000000 */;"
    assert "\\set mark 1000000000\n" in plan().script


def test_old_answers_are_told_by_storage() -> None:
    [row] = write_turn(made=97.0)

    [finding] = cache_writes.findings([row | {"kept_keys": 20, "stale_keys": 3}, row | {"kept_keys": 20}])

    assert finding["check"] == "cache_stale"
    assert finding["sentence"].startswith(
        "1 s after the last write 3 of the 40 answers that shared memory kept for hot keys had old"
    )


def test_writes_that_were_not_made_are_told() -> None:
    [finding] = cache_writes.findings(write_turn(made=40.0))

    assert finding["sentence"].startswith(
        "Of 100 writes per second 40 were made, by 3 sessions: a write takes too long"
    )
