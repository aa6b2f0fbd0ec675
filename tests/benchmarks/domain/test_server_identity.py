"""What sets the server that a session came to apart from the primary."""

from dataclasses import replace

import pytest

from apps.benchmarks.domain.server_identity import ServerIdentity, difference

PRIMARY = ServerIdentity("7561", "shop", False, "2026-11-20 12:00:00.000001", "10.0.0.1:5432")
NAME = "pg1 (10.0.0.1:5432)"
AS_A_COPY = (
    "another server: 10.0.0.7:5432 has the system identifier of the primary pg1 (10.0.0.1:5432), as a copy has, but "
    "takes writes itself, and runs since 2026-11-20 12:00:00.000002 UTC, "
    "the primary since 2026-11-20 12:00:00.000001 UTC"
)


@pytest.mark.parametrize(
    "found",
    [
        PRIMARY,
        replace(PRIMARY, address="10.0.0.99:5432"),  # it has several addresses
        replace(PRIMARY, is_in_recovery=True, started_at="2026-11-21 08:00:00.000000", address="10.0.0.2:5432"),
    ],
)
def test_the_primary_and_its_standbys_are_the_clusters(found: ServerIdentity) -> None:
    assert difference(found, PRIMARY, primary_name=NAME) == ""


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (
            replace(PRIMARY, system_identifier="9", address="10.0.0.7:5432"),
            "another server: 10.0.0.7:5432 has the system identifier 9, the primary pg1 (10.0.0.1:5432) has 7561",
        ),
        (
            replace(PRIMARY, system_identifier="9", is_in_recovery=True, address=""),
            "another server: what is there has the system identifier 9, the primary pg1 (10.0.0.1:5432) has 7561",
        ),
        (
            replace(PRIMARY, database="stock"),
            "another database: stock at 10.0.0.1:5432, not shop as at pg1 (10.0.0.1:5432)",
        ),
        (
            replace(PRIMARY, started_at="2026-11-20 12:00:00.000002", address="10.0.0.7:5432"),
            AS_A_COPY,
        ),
    ],
)
def test_what_is_another_server_or_database_is_told_with_both(found: ServerIdentity, words: str) -> None:
    assert difference(found, PRIMARY, primary_name=NAME) == words


def test_while_the_primary_is_no_primary_yet_two_starts_say_nothing() -> None:
    starting = replace(PRIMARY, is_in_recovery=True)

    assert difference(replace(PRIMARY, started_at="2026-11-20 13:00:00.000000"), starting, primary_name=NAME) == ""
