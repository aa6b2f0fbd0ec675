"""Which guards can tell nothing of a version of Pgpool-II, so that nobody waits for them."""

from dataclasses import replace

import pytest

from apps.clusters.domain.guard_reach import Told, counts_sessions, left_out
from apps.clusters.domain.guards import Guards

ALL = Guards()


@pytest.mark.parametrize(
    ("version", "found"),
    [
        ("3.7.28", ["error_factor", "shares"]),
        ("4.1.2", ["error_factor", "shares"]),
        ("4.2.0", ["shares"]),
        ("4.3.5", []),
        ("4.10.0", []),
        ("", []),  # nobody knows: it is waited for
    ],
)
def test_each_guard_needs_its_version(version: str, found: list[str]) -> None:
    assert [one.guard for one in left_out(ALL, {"pgpool-1": Told(version)}, statement_level=False)] == found
    assert counts_sessions(version) is ("shares" not in found)


def test_shares_are_told_by_what_was_measured_or_by_every_statement() -> None:
    measured, unmeasured = {"pgpool-1": Told("4.2.1", is_measured=True)}, {"pgpool-1": Told("4.2.1")}

    assert left_out(ALL, measured, statement_level=False) == ()
    assert left_out(ALL, unmeasured, statement_level=True) == ()


def test_a_guard_that_is_off_is_not_left_out() -> None:
    off = replace(ALL, error_factor=None, shares=False)

    assert left_out(off, {"pgpool-1": Told("3.7.28")}, statement_level=False) == ()


def test_those_of_a_version_are_named_together() -> None:
    told = {"pgpool-3": Told("4.3.5"), "pgpool-2": Told("4.1.2"), "pgpool-1": Told("4.1.2")}

    errors, shares = left_out(ALL, told, statement_level=False)

    assert errors.text == "pgpool-1, pgpool-2: Pgpool-II 4.1.2 tells no errors, which needs 4.2"
    assert shares.instances == ("pgpool-1", "pgpool-2")
