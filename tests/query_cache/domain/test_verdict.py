"""Whether the cache pays now, in words."""

import pytest

from apps.query_cache.domain.break_even import BreakEven, break_even
from apps.query_cache.domain.cache_fit import CachePoint
from apps.query_cache.domain.cache_state import CacheState
from apps.query_cache.domain.verdict import CacheVerdict, verdict
from tests.query_cache.domain.test_break_even import KEY_LOOK_UP, made

LOOK_UP = break_even([CachePoint(*one) for one in KEY_LOOK_UP])  # 40 %, 22 to 51
ALWAYS = break_even([CachePoint(*one) for one in made(0.99, 0.2, noise=0.01)])
NEVER = break_even([CachePoint(*one) for one in made(2.0, 1.3, noise=0.01)])
NO_FIT = break_even([])


def judged(
    ratio: float | None, measured: BreakEven | None, *, is_on: bool | None = True, reads: int = 10_000
) -> CacheVerdict:
    return verdict(is_on=is_on, operating_ratio=ratio, reads=reads, window="15 min", measured=measured)


@pytest.mark.parametrize(
    ("ratio", "measured", "state", "sentence"),
    [
        (0.71, LOOK_UP, CacheState.PAYS, "Keep the cache on: at 71 % hits it serves 5"),
        (0.95, LOOK_UP, CacheState.PAYS, "Keep the cache on: at 95 % hits it serves 2.7 times the reads"),
        (0.45, LOOK_UP, CacheState.CLOSE, "Too close to call: at 45 % hits"),
        (
            0.1,
            LOOK_UP,
            CacheState.COSTS,
            "Turn the cache off: at 10 % hits it serves 25 % fewer reads",
        ),
        (0.005, ALWAYS, CacheState.PAYS, "Keep the cache on: at 0.5 % hits reads are as fast as without it."),
        (0.99, NEVER, CacheState.COSTS, "Turn the cache off: at 99 % hits it serves 23 % fewer reads"),
        (0.5, NO_FIT, CacheState.NOT_A_FIT, "The query cache answers 50 % of what it is asked; the calibration gave"),
        (0.5, None, CacheState.NOT_MEASURED, "The query cache answers 50 % of what it is asked; whether that pays"),
    ],
)
def test_the_ratio_of_now_is_held_against_what_was_measured(
    ratio: float, measured: BreakEven | None, state: CacheState, sentence: str
) -> None:
    found = judged(ratio, measured)

    assert found.state is state
    assert found.sentence.startswith(sentence)


def test_why_tells_what_would_change_it() -> None:
    assert judged(0.71, LOOK_UP).why == "It starts to cost you below 40 % hits (95 % interval 22 to 51 %)."
    assert judged(0.1, LOOK_UP).why.startswith("It would pay from 40 % hits")
    assert "longer calibration" in judged(0.45, LOOK_UP).why


def test_it_says_of_which_reads_it_holds() -> None:
    found = verdict(
        is_on=True, operating_ratio=0.71, reads=1000, window="15 min", measured=LOOK_UP, asked="SELECT 1 + :key"
    )

    assert found.why.endswith("That holds for reads as dear as SELECT 1 + :key: the dearer a read, the sooner its "
                              "cache pays.")  # fmt: skip


@pytest.mark.parametrize(
    ("is_on", "ratio", "reads", "state"),
    [
        (None, None, 0, CacheState.UNKNOWN),
        (False, None, 0, CacheState.OFF),
        (True, None, 0, CacheState.TOO_LITTLE_TRAFFIC),
        (True, 0.9, 99, CacheState.TOO_LITTLE_TRAFFIC),
    ],
)
def test_where_there_is_no_ratio(is_on: bool | None, ratio: float | None, reads: int, state: CacheState) -> None:
    found = judged(ratio, LOOK_UP, is_on=is_on, reads=reads)

    assert found.state is state
    assert found.why == ("" if is_on is None else LOOK_UP.sentence)
