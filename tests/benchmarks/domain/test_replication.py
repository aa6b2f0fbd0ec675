"""How a primary replicates, from synchronous_standby_names and the rows of pg_stat_replication; told to people."""

from typing import Any

import pytest

from apps.benchmarks.domain import replication, replication_words
from apps.benchmarks.domain.replication import ReplicationFacts, StandbySeen


def standby(name: str, sync_state: str | None, state: str | None = "streaming") -> StandbySeen:
    return {"application_name": name, "state": None if sync_state is None else state, "sync_state": sync_state}


ASYNC = [standby("pg2", "async"), standby("pg3", "async")]
PRIORITY = [standby("pg2", "sync"), standby("pg3", "potential")]
QUORUM = [standby(f"pg{number}", "quorum") for number in (2, 3, 4)]
HIDDEN = [standby("pg2", None), standby("pg3", None)]
BACKUP = standby("pg_basebackup", "async", state="backup")


def seen(names: str, standbys: list[StandbySeen], *, commit: str = "on", fsync: bool = True) -> ReplicationFacts:
    return replication.facts(names=names, commit=commit, fsync=fsync, standbys=standbys)


@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        ("", (0, False)),
        (" ", (0, False)),
        ("*", (1, False)),
        ("pg2, pg3", (1, False)),
        ("2 (pg2, pg3)", (2, False)),
        ("FIRST 2 (pg2, pg3)", (2, False)),
        ("first 1(pg2)", (1, False)),
        ("ANY 2 (pg2, pg3, pg4)", (2, True)),
        ("anything", (1, False)),
    ],
)
def test_so_many_standbys_are_waited_for(names: str, wanted: tuple[int, bool]) -> None:
    assert replication.wanted(names) == wanted


@pytest.mark.parametrize(
    ("names", "standbys", "mode"),
    [
        ("", [], "no standby"),
        ("", [BACKUP], "no standby"),
        ("", ASYNC, "asynchronous"),
        ("", HIDDEN, "asynchronous"),  # nobody is waited for, whatever the rows would show
        ("FIRST 1 (pg2, pg3)", PRIORITY, "1 synchronous, 1 potential"),
        ("pg2", [PRIORITY[0], ASYNC[1]], "1 synchronous, 1 asynchronous"),
        ("ANY 2 (pg2, pg3, pg4)", QUORUM, "quorum of 2 of 3"),
        ("pg9", ASYNC, "1 synchronous wanted, none connected"),
        ("pg2", [], "1 synchronous wanted, none connected"),
        ("2 (pg2, pg3)", PRIORITY[:1], "2 synchronous wanted, 1 connected"),
        ("ANY 2 (pg2, pg3)", QUORUM[:1], "quorum of 2 wanted, 1 connected"),
        ("pg2", HIDDEN, None),
    ],
)
def test_a_mode_is_told_as_people_call_it(names: str, standbys: list[StandbySeen], mode: str | None) -> None:
    found = seen(names, standbys)

    assert found["mode"] == mode
    assert bool(found["reason"]) == (mode is None)


@pytest.mark.parametrize(
    ("names", "standbys", "level", "hangs"),
    [
        ("pg2", [], "on", True),
        ("pg2", [], "remote_write", True),
        ("pg2", [], "local", False),
        ("pg2", [], "off", False),
        ("", [], "remote_apply", False),
        ("2 (pg2, pg3)", PRIORITY[:1], "remote_apply", True),
        ("pg2", HIDDEN, "on", False),  # nobody can tell
        ("ANY 3 (pg2, pg3, pg4)", HIDDEN, "on", True),  # two rows are not three, whoever they are
        ("pg2", PRIORITY, "on", False),
    ],
)
def test_commits_that_wait_for_a_standby_that_is_gone_never_return(
    names: str, standbys: list[StandbySeen], level: str, *, hangs: bool
) -> None:
    said = replication.waits_for_ever(seen(names, standbys), level)

    assert bool(said) is hangs
    if hangs:
        assert f"synchronous_commit = {level} wait for ever" in said
        assert f"'{names}'" in said


def test_a_standby_that_fell_away_or_took_over_is_a_change_and_one_that_caught_up_is_none() -> None:
    before = seen("FIRST 1 (pg2, pg3)", PRIORITY)
    turned = [standby("pg2", "potential"), standby("pg3", "sync")]
    catching_up = [PRIORITY[0], standby("pg3", "potential", state="catchup")]

    assert replication.is_changed(before, seen("FIRST 1 (pg2, pg3)", PRIORITY[:1]))
    assert replication.is_changed(before, seen("FIRST 1 (pg2, pg3)", turned))
    assert not replication.is_changed(before, seen("FIRST 1 (pg2, pg3)", catching_up))
    [told] = replication_words.findings(before, seen("", ASYNC), commit_level="", writes=True)
    assert told["check"] == "replication_changed"
    assert told["sentence"] == (
        "Replication changed while it was measured: 1 synchronous, 1 potential (pg2 sync, pg3 potential) before, "
        "asynchronous (pg2 async, pg3 async) after."
    )


def checks(found: ReplicationFacts | None, **told: Any) -> list[tuple[str, bool]]:
    return [(one["check"], one["ok"]) for one in replication_words.findings(found, found, **told)]


@pytest.mark.parametrize(
    ("found", "level", "writes", "expected"),
    [
        (seen("", ASYNC), "", True, []),
        (None, "on", True, []),
        (seen("", ASYNC), "remote_apply", True, [("commit_level", False)]),
        (seen("", ASYNC), "local", True, [("commit_level", True)]),
        (seen("pg2", PRIORITY), "remote_apply", True, [("commit_level", True)]),
        (seen("pg2", PRIORITY), "remote_apply", False, [("commit_level", False)]),
        (seen("pg2", PRIORITY, fsync=False), "on", True, [("commit_level", True), ("fsync_off", False)]),
        (seen("pg2", PRIORITY, fsync=False), "off", True, [("commit_level", True)]),
    ],
)
def test_what_a_level_was_worth_is_found(
    found: ReplicationFacts | None, level: str, *, writes: bool, expected: list[tuple[str, bool]]
) -> None:
    assert checks(found, commit_level=level, writes=writes) == expected


def test_a_level_without_a_synchronous_standby_is_told_to_equal_local() -> None:
    [told] = replication_words.findings(seen("", ASYNC), None, commit_level="remote_write", writes=True)

    assert told["sentence"] == (
        "No standby is synchronous (synchronous_standby_names is empty), so commits with synchronous_commit = "
        "remote_write waited for no more than with local."
    )


def test_replication_is_told_with_what_a_run_was_measured_under() -> None:
    known = replication_words.rows({"replication": seen("pg2, pg3", PRIORITY, commit="remote_apply")})
    hidden = dict(replication_words.rows({"replication": seen("pg2", HIDDEN)}))

    assert known == [
        ("Replication", "1 synchronous, 1 potential"),
        ("Standbys of the primary", "pg2 sync, pg3 potential"),
        ("synchronous_standby_names", "pg2, pg3"),
        ("synchronous_commit", "remote_apply"),
    ]
    assert hidden["Replication"].startswith("not known; no account may see which standbys are synchronous")
    assert replication_words.rows({}) == []


def test_runs_of_one_comparison_that_were_replicated_differently_are_found() -> None:
    runs = [{"replication": seen("", ASYNC)}] * 2 + [{"replication": seen("", [])}]

    [told] = replication_words.of_comparison([*runs, {}])

    assert (told["check"], told["ok"]) == ("replication_differs", False)
    assert "(2 runs: asynchronous; 1 run: no standby)" in told["sentence"]
    assert replication_words.of_comparison([*runs[:2], {}]) == []


def test_the_condition_of_a_run_leaves_out_what_its_topology_says() -> None:
    environment = {"replication": seen("", ASYNC, commit="local")}

    assert replication_words.condition(environment, "primary") == {
        "replication": "asynchronous", "synchronous_commit": "local"
    }  # fmt: skip
    assert replication_words.condition(environment, "commit:local")["synchronous_commit"] is None
    assert replication_words.condition({}, "primary")["replication"] == "replication not known"
