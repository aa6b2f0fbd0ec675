"""Printed figures held against one another: what was published, and what cannot be."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.benchmarks.domain.run_figures import FigureError, run_figures
from apps.benchmarks.domain.sanity import Finding, NotChecked, check_run

# Eclipse Steady's pgbench runs of 2019: 80 clients, 600 s, 18 statements; tps, latency in ms, statements in ms.
PUBLISHED: dict[str, tuple[str, str, list[float]]] = {
    "primary": (
        "10.740517",
        "7448.431",
        [
            *(2.326, 1.624, 8.176, 536.314, 7.345, 3018.764, 21.753, 3.847, 2.468),
            *(1.65, 3.315, 15.557, 2.919, 2.341, 3.209, 3781.28, 10.604, 4.49),
        ],
    ),
    "standby": (
        "12.019692",
        "6655.745",
        [
            *(1.18, 0.992, 5.526, 411.687, 6.348, 2746.081, 29.709, 1.817, 1.172),
            *(0.832, 2.999, 24.242, 1.463, 0.965, 2.77, 3388.693, 8.212, 3.042),
        ],
    ),
    "one pgpool": (
        "9.54162",
        "8364.560",
        [
            *(2.727, 2.167, 8.458, 575.846, 8.354, 3432.151, 23.134, 4.465, 2.896),
            *(2.157, 4.203, 16.413, 3.166, 2.508, 3.945, 4234.848, 10.405, 4.791),
        ],
    ),
    "three pgpools": (
        "13.271408",
        "6027.996",
        [
            *(6.569, 6.529, 14.449, 637.22, 10.497, 2287.35, 26.816, 7.384, 6.981),
            *(6.558, 8.472, 24.4, 6.997, 6.6027, 8.339, 2982.97, 11.871, 7.649),
        ],
    ),
}


def checked(**given: Any) -> tuple[dict[str, Finding], dict[str, NotChecked]]:
    found, left = check_run(run_figures(given))
    return {each.check: each for each in found}, {each.check: each for each in left}


def published(name: str, *, as_numbers: bool) -> dict[str, Finding]:
    tps, latency, statements = PUBLISHED[name]
    figures = {"tps": tps, "latency_ms": latency}
    read = {field: float(text) if as_numbers else text for field, text in figures.items()}
    found, _ = checked(clients=80, latency_is_derived=True, statements_ms=statements, duration_s=600, **read)
    return found


@pytest.mark.parametrize("as_numbers", [False, True])
@pytest.mark.parametrize(
    ("name", "objected"),
    [("primary", []), ("standby", []), ("one pgpool", ["littles_law"]), ("three pgpools", ["statement_sum"])],
)
def test_what_was_published(name: str, objected: list[str], as_numbers: bool) -> None:
    found = published(name, as_numbers=as_numbers)

    assert [check for check, each in found.items() if not each.ok] == objected
    assert set(found) == {"littles_law", "statement_sum", "too_short"}


@pytest.mark.parametrize("as_numbers", [False, True])
def test_the_lost_digit_is_named_with_what_should_stand_there(as_numbers: bool) -> None:
    found = published("one pgpool", as_numbers=as_numbers)["littles_law"]

    assert (found.figure, found.unit, found.printed, found.expected) == (
        "tps",
        "tps",
        9.54162,
        9.564161,
    )  # 80 / 8.36456
    assert "make 9.564161 tps, not 9.54162" in found.sentence


def test_statements_that_take_longer_than_their_transaction_are_named_with_their_sum() -> None:
    found = published("three pgpools", as_numbers=False)["statement_sum"]

    assert (found.unit, found.printed, found.expected) == ("ms", 6067.6537, 6027.996)
    assert "0.66 % above the 6,027.996 ms" in found.sentence


@pytest.mark.parametrize(
    ("tps", "latency", "derived", "ok"),
    [
        ("1000.0", "10", True, True),  # 10 ms stands for 9.5 to 10.5
        ("1000.0", "10.000", True, True),
        ("1000.6", "10.000", True, False),  # 9.9995 to 10.0005 ms: 999.95 to 1000.05
        ("1000.1", "10.000", True, True),  # stands for 1000.05 to 1000.15
        ("1040", "10.000", False, True),
        ("1060", "10.000", False, False),
        ("960", "10.000", False, True),
        ("940", "10.000", False, False),
        ("1090", "10", False, True),  # 10 / 9.5 ms * 1.05 = 1105
        ("908", "10", False, True),  # 10 / 10.5 ms * 0.95 = 904.8
        ("1107", "10", False, False),
        ("903", "10", False, False),
    ],
)
def test_a_derived_latency_holds_to_the_digit_and_a_measured_one_nearly(
    tps: str, latency: str, derived: bool, ok: bool
) -> None:
    found, _ = checked(clients=10, tps=tps, latency_ms=latency, latency_is_derived=derived)

    assert found["littles_law"].ok is ok
    assert found["littles_law"].expected == 1000


def test_a_latency_beside_a_throttle_is_not_held_against_the_rate() -> None:
    found, left = checked(clients=10, tps=500, latency_ms=3.2, throttle_per_s=500)

    assert "littles_law" not in found
    assert left["littles_law"].missing == ()


@pytest.mark.parametrize(
    ("statements", "ok"),
    [([4, 6], True), ([4.0, 5.9], True), ([4.004, 6.004], True), ([4.5, 5.53], False), ([0, 0], True), ([12], False)],
)
def test_statements_sum_up_to_their_transaction_at_most(statements: list[float], ok: bool) -> None:
    found, _ = checked(latency_ms="10.000", statements_ms=statements)

    assert found["statement_sum"].ok is ok


@pytest.mark.parametrize(
    ("tps", "throttle", "batch", "duration", "ceiling", "ok"),
    [
        (5015, 5000, 100, 300, 5016.67, False),  # 5000 * 301 / 300; the tri-node queue of 2025
        (4867, 5000, None, 300, 5016.67, False),  # 97 % are 4866.17
        (4866, 5000, None, 300, 5016.67, True),
        (5000, 5000, None, None, 5000, False),
        (2400, 5000, None, None, 5000, True),
        (4800, 5000, None, None, 5000, True),
        (500, 500, None, 8, 562.5, False),  # held to the message, without a bucket
        # 4000 starts drawn at random make 4000 ± 3 * 63.2, less the 9/4 that roots add: 476.6 to 523.9 per s
        (494, 500, None, 8, 562.5, False),
        (476.7, 500, None, 8, 562.5, False),
        (464, 500, None, 8, 562.5, True),  # 4.6 * 63.2 fewer
        (47.5, 50, None, 3, 66.67, False),  # a run of pgbench -S -R 50: 142 of 150 ± 12.2
        (49.2, 50, None, 60, 50.83, False),
        (110, 100, 3000, 300, 110, False),  # a bucket smaller than a batch would let none through: + 3000 / 300
        (5200, 5000, None, 300, 5016.67, False),
    ],
)
def test_a_rate_that_the_throttle_sets_is_no_capacity(
    tps: float, throttle: float, batch: int | None, duration: float | None, ceiling: float, ok: bool
) -> None:
    found, _ = checked(tps=tps, throttle_per_s=throttle, batch=batch, duration_s=duration)

    bound = found["throttle_bound"]
    assert (bound.ok, bound.expected) == (ok, ceiling)
    assert f"of the {ceiling:,.2f} per s that a throttle of {throttle:,g} per s lets through" in bound.sentence


def test_more_than_the_throttle_lets_through_is_said_to_be_wrong() -> None:
    found, _ = checked(tps=5200, throttle_per_s=5000, duration_s=300)

    assert "more than it can let through" in found["throttle_bound"].sentence


def test_a_throttle_below_its_rate_by_chance_says_what_chance_makes_of_it() -> None:
    found, _ = checked(tps="47.5", throttle_per_s=50, duration_s=3)

    # 150 starts: roots 12.247 ∓ 1.5, squared 115.5 and 189.0, over 3 s
    assert "starts drawn at random make 38.50 to 63.00 per s of it: this is the throttle" in (
        found["throttle_bound"].sentence
    )


@pytest.mark.parametrize(
    ("tps", "throttle", "duration", "said"),
    [
        (470, 500, 8, "465.06 to 536.21 per s of it. It may be the throttle or the servers; a longer run"),
        (8, 10, 6, "starts drawn at random make 5.03 to 16.65 per s"),  # of 60 starts 48, as half of it may have been
        (46.5, 50, None, "Whether chance explains the rest, duration_s would tell."),
    ],
)
def test_nothing_certain_is_said_where_chance_may_have_made_the_rate(
    tps: float, throttle: float, duration: float | None, said: str
) -> None:
    found, left = checked(tps=tps, throttle_per_s=throttle, duration_s=duration)

    assert "throttle_bound" not in found
    assert left["throttle_bound"].missing == ()
    assert left["throttle_bound"].sentence.startswith("Not told: ")
    assert said in left["throttle_bound"].sentence


@pytest.mark.parametrize(("throttle", "duration"), [(50, 3), (10, 60), (50, 60), (100, 30), (300, 30), (5000, 60)])
def test_simulated_runs_at_their_throttle_are_told_as_that_and_never_those_at_half_of_it(
    throttle: int, duration: int
) -> None:
    rng = np.random.default_rng(throttle * duration)

    def told(starts: int) -> list[Finding | None]:
        counts = rng.poisson(starts, 1000)
        runs = [
            checked(tps=f"{max(1, n) / duration:.6f}", throttle_per_s=throttle, duration_s=duration) for n in counts
        ]
        return [found.get("throttle_bound") for found, _ in runs]

    whole, half = told(throttle * duration), told(throttle * duration // 2)

    assert sum(one is not None and "this is the throttle" in one.sentence for one in whole) >= 990
    assert not [one for one in half if one is not None and not one.ok]


@pytest.mark.parametrize(
    ("figures", "ceiling", "ok"),
    [
        ({"clients": 24, "tps": 1840, "latency_ms": 13}, 1846.154, False),  # 24 / 0.013 s
        ({"clients": 24, "tps": 402.42, "latency_ms": 13}, 1846.154, True),
        # 10 writers with 100 messages in 5.01 ms: busy 2.5 % of the time
        ({"clients": 10, "tps": 5015, "latency_ms": 5.01, "batch": 100, "throttle_per_s": 5000}, 199600.8, True),
    ],
)
def test_no_server_gets_more_out_of_so_many_clients(figures: dict[str, Any], ceiling: float, ok: bool) -> None:
    found, _ = checked(**figures)

    bound = found["client_bound"]
    assert (bound.ok, bound.expected) == (ok, ceiling)
    assert "cannot exceed" in bound.sentence


def test_a_coarse_latency_does_not_tell_whether_clients_had_time_to_spare() -> None:
    found, left = checked(clients=4, tps=37_900, latency_ms="0.10")

    # 0.095 to 0.105 ms: 4 clients make 38,095 to 42,105
    assert found["littles_law"].ok
    assert "client_bound" not in found
    assert "cannot exceed 40,000.00 tps (38,095 to 42,105 as that latency is rounded)" in left["client_bound"].sentence


def test_a_derived_latency_tells_nothing_of_the_clients() -> None:
    found, left = checked(clients=24, tps=1846.15, latency_ms=13, latency_is_derived=True)

    assert "client_bound" not in found
    assert "computed from the rate" in left["client_bound"].sentence


@pytest.mark.parametrize(
    ("figures", "least", "ok"),
    [
        ({"duration_s": 60}, 60, True),
        ({"duration_s": 59.5}, 60, False),
        ({"duration_s": 60, "tps": 1.25}, 80, False),  # 100 transactions
        ({"duration_s": 80, "tps": 1.25}, 80, True),
        ({"duration_s": 600, "tps": 10, "percentile": 99.9}, 1000, False),  # 10 beyond p99.9: 10,000
        ({"duration_s": 600, "tps": 10, "percentile": 99}, 100, True),
        ({"duration_s": 60, "tps": 100, "batch": 100}, 100, False),
    ],
)
def test_a_run_too_short_says_how_long_it_has_to_be(figures: dict[str, Any], least: float, ok: bool) -> None:
    found, _ = checked(**figures)

    assert (found["too_short"].ok, found["too_short"].expected) == (ok, least)


def test_what_cannot_be_checked_names_what_is_missing() -> None:
    found, left = checked(clients=80)

    assert found == {}
    assert {check: each.missing for check, each in left.items()} == {
        "littles_law": ("tps", "latency_ms"),
        "statement_sum": ("statements_ms", "latency_ms"),
        "throttle_bound": ("tps", "throttle_per_s"),
        "client_bound": ("tps", "latency_ms"),
        "too_short": ("duration_s",),
    }
    assert left["client_bound"].sentence == "Not checked without tps and latency_ms."


@pytest.mark.parametrize(
    ("given", "field", "said"),
    [
        ({}, "tps", "at least one figure"),
        ({"latency_is_derived": True}, "tps", "at least one figure"),
        ({"tps": 0}, "tps", "a number from 1e-9"),
        ({"tps": -3}, "tps", "'-3' is not possible"),
        ({"tps": math.nan}, "tps", "'nan'"),
        ({"tps": "inf"}, "tps", "'inf'"),
        ({"tps": "8,364.56"}, "tps", "with a point and no commas"),
        ({"tps": "1_000"}, "tps", "no commas"),
        ({"tps": "1e999999999"}, "tps", "to 1e+12"),
        ({"tps": "--1"}, "tps", "a number from"),
        ({"tps": ""}, "tps", "a number"),
        ({"tps": True}, "tps", "'True'"),
        ({"tps": [1]}, "tps", "a number"),
        ({"tps": 10**400}, "tps", "to 1e+12"),
        ({"clients": 0.5}, "clients", "a whole number of 1 or more"),
        ({"clients": 0}, "clients", "a number from"),
        ({"batch": 1.5, "tps": 1}, "batch", "a whole number"),
        ({"statements_ms": []}, "statements_ms", "'0 values'"),
        ({"statements_ms": "1 2"}, "statements_ms", "a list"),
        ({"statements_ms": [1, None]}, "statements_ms.1", "a number of 0 or more"),
        ({"statements_ms": [1, -1]}, "statements_ms.1", "a number from 0"),
        ({"tps": 1, "percentile": 100}, "percentile", "from 50 to below 100"),
    ],
)
def test_what_is_no_figure_is_refused_by_name(given: dict[str, Any], field: str, said: str) -> None:
    with pytest.raises(FigureError) as refused:
        run_figures(given)

    assert refused.value.field == field
    assert said in refused.value.reason


@given(clients=st.integers(1, 10_000), latency=st.integers(1, 10**8), decimals=st.integers(0, 6))
def test_what_a_tool_divides_and_rounds_is_never_objected_to(clients: int, latency: int, decimals: int) -> None:
    latency_ms = latency / 1000
    tps = f"{1000 * clients / latency_ms:.{decimals}f}"
    if float(tps) == 0:
        return

    found, _ = checked(clients=clients, tps=tps, latency_ms=f"{latency_ms:.3f}", latency_is_derived=True)

    assert found["littles_law"].ok


@given(
    clients=st.none() | st.integers(1, 10_000),
    tps=st.none() | st.floats(1e-9, 1e12),
    latency_ms=st.none() | st.floats(1e-9, 1e12),
    throttle_per_s=st.none() | st.floats(1e-9, 1e12),
    batch=st.none() | st.integers(1, 10**6),
    duration_s=st.floats(1e-9, 1e12),
    latency_is_derived=st.booleans(),
)
def test_every_check_is_made_or_said_not_to_be(**given: Any) -> None:
    found, left = checked(**given)

    assert set(found) | set(left) == {"littles_law", "statement_sum", "throttle_bound", "client_bound", "too_short"}
    assert not set(found) & set(left)
    assert all(math.isfinite(each.printed) and math.isfinite(each.expected) for each in found.values())
