"""A forecast in sentences: of every state of a cache, and of how often a table is written."""

import pytest

from apps.query_cache.domain.break_even import BreakEven, State, break_even
from apps.query_cache.domain.cache_fit import CachePoint
from apps.query_cache.domain.forecast import Load
from apps.query_cache.domain.forecast_words import Between, Subject, between, rate, sentence, span, why
from tests.query_cache.domain.test_break_even import KEY_LOOK_UP, made

LOOK_UP = break_even([CachePoint(*one) for one in KEY_LOOK_UP])  # 40 %, 22 to 51
ALWAYS = break_even([CachePoint(*one) for one in made(0.99, 0.2, noise=0.01)])
NEVER = break_even([CachePoint(*one) for one in made(2.0, 1.3, noise=0.01)])
NO_FIT = break_even([])
LOAD = Load(keys=50_000, per_s=420)


def told(measured: BreakEven | None, *, per_s: float | None = 420, is_on: bool = True, storage: str = "shmem") -> str:
    return plain(sentence(Subject(50_000, per_s, is_on, storage, measured)))


def plain(text: str) -> str:
    return text.replace("\u00a0", " ")


def test_when_it_pays_again_and_when_show_pool_cache_shows_that() -> None:
    # 50,000 / 420 = 119 s a read of each key. Operating: 119 s · −ln(1 − 0.396) = 60 s.
    # Cumulative: 1 − (1 − e^−x) / x is 0.396 at x = 1.11, which is 132 s.
    assert told(LOOK_UP) == (
        "At 420 cacheable reads/s over 50,000 keys the cache pays again 1 min after a restart; SHOW pool_cache shows "
        "that ratio only after 2 min 12 s."
    )


def test_why_has_the_interval_and_what_the_warm_up_costs() -> None:
    interval, loss = (plain(one) for one in why(Subject(50_000, 420, True, "shmem", LOOK_UP)))

    assert interval.startswith(
        "It pays from 40 % hits; the 95 % interval of that, 22 to 51 %, is reached after 29 s to "
    )
    assert loss.startswith(
        "Until it pays, a read takes 21 % longer than without a cache in the mean: together the time "
    )
    assert loss.endswith("Hits have earned that back after 2 min 12 s, when SHOW pool_cache comes to 40 %.")


@pytest.mark.parametrize(
    ("measured", "words", "reason"),
    [
        (ALWAYS, "the cache pays from the first read after a restart on; 99 % of the reads are hits after 9 min 8 s.",
         "The cache pays at any hit ratio"),
        (NEVER, "99 % of the reads are hits 9 min 8 s after a restart, and the cache does not pay even then.",
         "The cache never pays"),
        (None, "half of the reads are hits 1 min 23 s after a restart, and 99 % after 9 min 8 s.",
         "From which hit ratio on it pays, nobody has measured here yet: a calibration tells"),
        (NO_FIT, "half of the reads are hits 1 min 23 s after a restart, and 99 % after 9 min 8 s.",
         "From which hit ratio on it pays, the calibration could not tell. A line needs at least 4 pairs"),
    ],
)  # fmt: skip
def test_without_a_break_even(measured: BreakEven | None, words: str, reason: str) -> None:
    assert told(measured) == f"At 420 cacheable reads/s over 50,000 keys {words}"
    [said] = why(Subject(50_000, 420, True, "shmem", measured))
    assert said.startswith(reason)


def test_without_a_rate_it_counts_reads() -> None:
    # −ln(1 − 0.396) · 50,000, and ln 100 · 50,000
    assert told(LOOK_UP, per_s=None).startswith("Over 50,000 keys the cache pays after 25,2")
    assert "say how many SELECTs per second there are" in told(LOOK_UP, per_s=None)
    assert told(None, per_s=None).startswith(
        "Over 50,000 keys 99 % of the reads are hits after 230,256 cacheable reads"
    )


def test_a_cache_that_is_off_and_one_that_a_restart_of_pgpool_leaves_warm() -> None:
    assert told(LOOK_UP, is_on=False).startswith(
        "Were the cache on: at 420 cacheable reads/s over 50,000 keys the cache pays 1 min after a restart;"
    )
    assert " 1 min after memcached was emptied;" in told(LOOK_UP, storage="memcached")
    assert why(Subject(50_000, 420, True, "memcached", LOOK_UP))[-1].startswith("A restart of pgpool leaves memcached")


@pytest.mark.parametrize(
    ("measured", "every_s", "state", "words"),
    [
        # 12,600 reads in 30 s, 0.252 a key: 1 − (1 − e^−0.252) / 0.252 = 11.6 %; at random 0.252 / 1.252 = 20 %
        (LOOK_UP, 30, Between.COSTS, "12 % of its reads are hits in the mean, 20 % if the writes come at random: "),
        (LOOK_UP, 30, Between.COSTS, "below the break-even (40 %), it costs there, and the table belongs on cache_"),
        (LOOK_UP, 120, Between.CLOSE, "around the break-even (40 %), too close to call."),
        (LOOK_UP, 3000, Between.PAYS, "above the break-even (40 %), it pays there."),
        (ALWAYS, 30, Between.PAYS, "it pays there all the same."),
        (NEVER, 3000, Between.COSTS, "it does not pay at any ratio."),
        (NO_FIT, 30, Between.NOT_MEASURED, "20 % if the writes come at random."),
        (None, 30, Between.NOT_MEASURED, "20 % if the writes come at random."),
    ],
)  # fmt: skip
def test_a_table_that_is_written_now_and_then(
    measured: BreakEven | None, every_s: float, state: Between, words: str
) -> None:
    found, said = between(LOAD, every_s, measured)

    assert found is state
    assert words in plain(said)
    if measured is LOOK_UP:  # 119 s · 0.396 / 0.604 = 78 s
        assert plain(said).endswith(
            "It breaks even at a write every 2 min 12 s, or at random ones every 1 min 18 s in the mean."
        )


def test_an_interval_up_to_all_hits_is_never_reached() -> None:
    wide = BreakEven(State.PAYS_ABOVE, "", 0.8, 0.6, 1.0, LOOK_UP.miss_cost, LOOK_UP.hit_cost, LOOK_UP.found)

    said = plain(why(Subject(50_000, 420, True, "shmem", wide))[0])

    assert said.endswith("60 to 100 %, is reached from 1 min 49 s on, its upper end never.")


def test_times_and_rates_for_people() -> None:
    times = [0, 0.001, 0.42, 2.44, 59.6, 130, 11_100, 86_400, 200_000, 1e6]
    said = [
        "0 s",
        "less than 0.01 s",
        "0.42 s",
        "2.4 s",
        "1 min",
        "2 min 10 s",
        "3 h 5 min",
        "1 day",
        "2 days 7 h",
        "12 days",
    ]

    assert [plain(span(one)) for one in times] == said
    assert [rate(one) for one in (12_345.6, 10, 0.253, 0.001)] == [
        "12,346 cacheable reads/s", "10 cacheable reads/s", "0.25 cacheable reads/s", "0.001 cacheable reads/s",
    ]  # fmt: skip
