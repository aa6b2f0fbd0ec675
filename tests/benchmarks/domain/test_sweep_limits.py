"""Where the clients of a sweep are the limit, by Little's law, and where the throttle is."""

import pytest

from apps.benchmarks.domain.sweep_limits import Load, limits, sentence


def closed(clients: int, mean_ms: float | None) -> Load:
    return Load(clients, mean_ms, is_closed_loop=True, is_at_throttle=False)


def throttled(clients: int, *, is_at_throttle: bool) -> Load:
    return Load(clients, 1.0, is_closed_loop=False, is_at_throttle=is_at_throttle)


def test_clients_are_the_limit_as_long_as_latency_is_the_lowest() -> None:
    # 1, 2, 4 clients at 2 ms could get 500, 1000, 2000; 16 could get 8000.
    loads = [closed(1, 2.0), closed(2, 2.02), closed(4, 2.3), closed(16, 8.0)]

    found = limits(loads, [500, 990, 1740, 2000], over="clients")

    assert found == ["clients", "clients", "", ""]  # 1740 is 87 % of 2000
    assert sentence([1, 2, 4, 16], found, over="clients") == (
        "Up to clients = 2 the clients are the limit: the rate is clients / latency at the lowest latency measured "
        "(Little's law)."
    )


def test_fewer_clients_than_those_that_are_the_limit_are_it_too() -> None:
    # A single client is slower than two here: 0.14 ms, of 0.09 ms at two.
    loads = [closed(1, 0.14), closed(2, 0.09), closed(4, 0.10), closed(8, 0.20)]

    assert limits(loads, [7000, 20300, 40000, 40100], over="clients") == ["clients", "clients", "", ""]


def test_where_the_next_place_brings_no_more_the_clients_are_not_the_limit() -> None:
    # The lowest latency fits its own rate: 8 clients / 2 ms = 4000.
    loads = [closed(8, 2.0), closed(16, 4.0), closed(32, 8.0)]

    for rates in ([4000, 4000, 4000], [4000, 4400, 4500]):  # 4000 is 91 % of 4400
        found = limits(loads, rates, over="clients")

        assert found == ["", "", ""]
        assert sentence([8, 16, 32], found, over="clients") == ""


def test_one_place_that_brings_no_more_leaves_those_before_it_marked() -> None:
    # Two clients are at the ceiling of 0.09 ms, and four bring nothing; one is below it, and two brought more.
    loads = [closed(1, 0.14), closed(2, 0.09), closed(4, 0.19)]

    assert limits(loads, [7000, 20300, 19600], over="clients") == ["clients", "", ""]


def test_nobody_can_tell_what_more_clients_than_at_the_last_place_bring() -> None:
    found = limits([closed(1, 2.0), closed(2, 2.0), closed(3, 2.0)], [500, 1000, 1500], over="clients")

    assert found == ["clients", "clients", ""]
    assert sentence([1, 2, 3], found, over="clients") == (
        "Up to clients = 2 the clients are the limit: the rate is clients / latency at the lowest latency measured "
        "(Little's law). Whether more than 3 bring more was not measured."
    )


@pytest.mark.parametrize("over", ["pgpools", "parameters.scale", "x"])
def test_with_as_many_clients_everywhere_nobody_can_tell(over: str) -> None:
    found = limits([closed(8, 2.0), closed(8, 1.0), closed(8, 1.0)], [4000, 8000, 8000], over=over)

    assert found == ["", "", ""]
    assert sentence([1, 2, 3], found, over=over) == ""


def test_the_throttle_is_named_where_it_was_measured() -> None:
    loads = [throttled(4, is_at_throttle=True), throttled(4, is_at_throttle=False), throttled(4, is_at_throttle=True)]

    found = limits(loads, [100, 150, 300], over="parameters.throttle_per_s")

    assert found == ["throttle", "", "throttle"]
    said = sentence([100, 200, 300], found, over="parameters.throttle_per_s")
    assert said == "At throttle_per_s = 100, 300 the throttle was measured, and not what the servers can do."
    everywhere = sentence([100, 200, 300], ["throttle"] * 3, over="parameters.throttle_per_s")
    assert everywhere.startswith("Everywhere the throttle was measured")


def test_an_unknown_latency_limits_nothing() -> None:
    assert limits([closed(1, None), closed(2, None)], [100, 200], over="clients") == ["", ""]
