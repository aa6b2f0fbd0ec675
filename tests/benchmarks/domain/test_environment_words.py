"""What a run was measured under, told from what was stored with it; runs of an older version lack parts of it."""

from typing import Any

from apps.benchmarks.domain import environment_words
from apps.benchmarks.domain.environment_words import NOT_PREPARED, UNPREPARED_AS_ASKED, Machine, Reads, of_preparing

STORED: dict[str, Any] = {
    "client": {
        "host": "bench-1", "cpus": 8, "machine": "x86_64", "program": "pgbench (PostgreSQL) 15.14",
        "load_before": [0.4, 0.1, 0.1], "load_after": [1.876, 0.5, 0.2],
    },
    "postgresql": "15.14",
    "pgpools": [{"name": "pgpool-1", "version": "4.3.5", "sha256": "3f9a21c07700", "weights": {}}],
    "placement": {"10.0.0.2": ["db1:5432"], "localhost": ["client", "pgpool-1"]},
    "counters_before": {"cache": {"pgpool-1": [10, 10]}, "lsn_bytes": {"db0": 1000, "db1": 900}},
    "counters_after": {
        "cache": {"pgpool-1": [40, 20]},
        "lsn_bytes": {"db0": 5000, "db1": 4900, "db2": 7},
        "replay_lag_s": {"db1": 0.25, "db0": None},
    },
    "reads": {"2": 750, "10": 250},
    "notes": ["percentiles are of 10% of all transactions: that many were logged"],
}  # fmt: skip


def test_facts_that_are_known_are_told() -> None:
    told = dict(environment_words.facts(STORED))

    assert told == {
        "PostgreSQL": "15.14",
        "Pgpool-II at pgpool-1": "4.3.5, file 3f9a21c0",
        "Load comes from": "bench-1, 8 CPUs, x86_64",
        "By": "pgbench (PostgreSQL) 15.14",
        "Load of that machine": "0.40 before, 1.88 after",
        "Lag at its end": "db1 0.2\u00a0s",
        "Note": "percentiles are of 10% of all transactions: that many were logged",
    }


def test_what_shares_a_machine_is_seen() -> None:
    found = environment_words.machines(STORED)

    assert found == [Machine("10.0.0.2", ("db1:5432",)), Machine("localhost", ("client", "pgpool-1"))]
    assert [one.is_shared for one in found] == [False, True]


def test_figures_of_counters_are_differences() -> None:
    assert environment_words.reads(STORED, {2: "pg3"}) == [Reads(2, "pg3", 750, 0.75), Reads(10, "node 10", 250, 0.25)]
    assert environment_words.written_bytes(STORED) == 4000
    assert environment_words.hit_ratio(STORED) == 0.75  # 30 hits, 10 misses


def test_a_counter_that_fell_or_is_missing_gives_no_figure() -> None:
    fell = {**STORED, "counters_after": {"cache": {"pgpool-1": [1, 20]}, "lsn_bytes": {"db0": 10}}, "reads": None}

    assert environment_words.hit_ratio(fell) is None
    assert environment_words.written_bytes(fell) is None
    assert environment_words.reads(fell, {}) == []
    assert environment_words.facts({}) == []
    assert environment_words.machines({}) == []
    assert environment_words.hit_ratio({}) is None


def test_runs_of_one_workload_that_could_not_prepare_beside_others_that_did_are_told() -> None:
    prepared, bare, other = (
        {"workload": workload, "notes": notes}
        for workload, notes in (("pubsub", []), ("pubsub", [NOT_PREPARED]), ("pgbench-select-only", []))
    )

    [found] = of_preparing([prepared, bare, bare, other, {}])

    assert (found["check"], found["ok"]) == ("preparing_differs", False)
    assert found["sentence"].startswith("Of 3 runs 2 did not prepare their statements, since a pooler")
    asked = {"workload": "pubsub", "notes": [UNPREPARED_AS_ASKED]}
    assert of_preparing([prepared, bare, bare, asked]) == [found]
    assert of_preparing([bare, asked]) == []
    assert of_preparing([bare, bare, other]) == of_preparing([prepared, other]) == of_preparing([]) == []
