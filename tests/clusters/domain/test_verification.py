"""What pgpool shows held against what its file says."""

import pytest

from apps.clusters.domain.parameters import catalogue
from apps.clusters.domain.verification import TruthState, is_same_value, shares_are_live, verify

KNOWN = catalogue.for_version("4.3.5")


@pytest.mark.parametrize(
    ("shown", "state"),
    [
        ([{"backend_weight0": "3"}, {"backend_weight0": "3"}], TruthState.LIVE),
        ([{"backend_weight0": "1"}, {"backend_weight0": "1"}], TruthState.REJECTED),
        ([{"backend_weight0": "3"}, {"backend_weight0": "1"}], TruthState.MIXED),
        ([{"backend_weight0": "3"}, {}], TruthState.MIXED),
        ([{}, {"port": "9999"}], TruthState.IGNORED),
    ],
)
def test_all_connections_must_agree_on_the_wanted_value(shown: list[dict[str, str]], state: TruthState) -> None:
    assert [truth.state for truth in verify({"backend_weight0": "3"}, shown, catalogue=KNOWN)] == [state]


def test_a_parameter_that_needs_a_restart_is_pending() -> None:
    truth = verify({"max_pool": "8"}, [{"max_pool": "4"}], catalogue=KNOWN)[0]

    assert truth.state is TruthState.PENDING_RESTART
    assert truth.seen == ("4",)
    assert not truth.is_live


def test_a_password_is_never_shown_and_holds_nothing_up() -> None:
    truth = verify({"sr_check_password": "x"}, [{"sr_check_password": "*****"}], catalogue=KNOWN)[0]

    assert truth.state is TruthState.HIDDEN
    assert truth.is_live


def test_silence_proves_nothing() -> None:
    with pytest.raises(ValueError, match="no reading"):
        verify({"port": "9999"}, [], catalogue=KNOWN)


# Values of PGPOOL SHOW ALL on 4.3.5 beside what stands in the file.
@pytest.mark.parametrize(
    ("name", "wanted", "shown", "same"),
    [
        ("delay_threshold", "1001", "1001B", True),
        ("memqcache_total_size", "67108864", "64MB", True),
        ("memqcache_maxcache", "409600", "400kB", True),
        ("child_life_time", "300", "5min", True),
        ("authentication_timeout", "60", "1min", True),
        ("client_idle_limit", "221", "221s", True),
        ("connect_timeout", "10000", "10000", True),
        ("log_rotation_size", "10240", "10MB", True),
        ("log_rotation_age", "1440", "1d", True),
        ("load_balance_mode", "true", "on", True),
        ("load_balance_mode", "1", "on", True),
        ("load_balance_mode", "off", "on", False),
        ("backend_weight1", "0.25", "0", True),
        ("backend_weight1", "2.0", "2", True),
        ("backend_weight1", "2", "3", False),
        ("delay_threshold", "1001", "1002B", False),
        ("log_line_prefix", "%t: ", "%m: ", False),
        ("port", "9999", "9999x", False),
    ],
)
def test_values_are_compared_as_pgpool_prints_them(name: str, wanted: str, shown: str, same: bool) -> None:
    assert is_same_value(name, wanted, shown) is same


def test_shares_are_compared_to_six_decimals() -> None:
    assert shares_are_live({0: 0, 1: 1, 2: 2}, {0: 0.0, 1: 0.333333, 2: 0.666667})
    assert not shares_are_live({0: 0, 1: 1, 2: 2}, {0: 0.0, 1: 0.333, 2: 0.667})
    assert not shares_are_live({0: 0, 1: 1, 2: 2}, {0: 0.0, 1: 0.333333, 2: None})
    assert not shares_are_live({0: 0, 1: 1, 2: 2}, {1: 0.333333, 2: 0.666667})
