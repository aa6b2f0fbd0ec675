"""A calibration of the query cache: its plan, its script, and what its slices say."""

import random
from collections import Counter
from typing import Any

import pytest

from apps.benchmarks.domain import cache_calibration
from apps.benchmarks.domain.cache_calibration import LEVELS, LOOK_UP, PARAMETERS, SQL, Slice
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
