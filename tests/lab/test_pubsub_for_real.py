"""The pub/sub load against the real cluster: every message once to every group, whatever is killed meanwhile."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from apps.benchmarks.domain import own_program
from deploy import processes
from deploy.lab import Lab

ROOT = Path(__file__).parents[2]
ENDS_WITHIN_S = 120
Load = Callable[..., "contextlib.AbstractContextManager[subprocess.Popen[str]]"]


def words(action: str, **options: Any) -> list[str]:
    found = [sys.executable, "-m", "apps.benchmarks.drivers.pubsub", action]
    for name, value in options.items():
        found += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
    return found


@pytest.fixture
def environment(lab: Lab) -> Iterator[dict[str, str]]:
    """Of the application's account at the primary; the tables of two partitions stand, and are gone afterwards."""
    app, primary = lab.addresses["app"], lab.backends.primary
    found = {
        **os.environ, "PGHOST": primary.host, "PGPORT": str(primary.port), "PGUSER": app["username"],
        "PGPASSWORD": app["password"], "PGDATABASE": app["database"], "PGSSLMODE": "disable",
    }  # fmt: skip
    subprocess.run(words("prepare", partitions=2, groups=2), env=found, cwd=ROOT, check=True, timeout=ENDS_WITHIN_S)
    yield found
    subprocess.run(words("drop"), env=found, cwd=ROOT, check=True, timeout=ENDS_WITHIN_S)
    with lab.backends.connect(primary, app["database"]) as superuser:
        left = superuser.execute("SELECT count(*) FROM pg_tables WHERE tablename LIKE 'lifeguard_pubsub%'").fetchone()
    assert left == (0,)


@pytest.fixture
def load(environment: dict[str, str]) -> Load:
    """Two groups, two readers each, two writers, two partitions, two processes; ended with the block."""

    @contextlib.contextmanager
    def begun(*more: str, **options: Any) -> Iterator[subprocess.Popen[str]]:
        asked = {
            "writers": 2, "groups": 2, "readers_per_group": 2, "partitions": 2, "processes": 2, "message_bytes": 100,
            "throttle_per_s": 400, "drain_s": 60, **options,
        }  # fmt: skip
        with subprocess.Popen(
            [*words("load", **asked), *more], env=environment, cwd=ROOT, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, start_new_session=True,
        ) as running:  # fmt: skip
            try:
                yield running
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(running.pid, signal.SIGKILL)

    return begun


def seconds(running: subprocess.Popen[str], count: int) -> list[str]:
    """Those that brought anything."""
    assert running.stdout is not None
    found: list[str] = []
    while len(found) < count:
        line = running.stdout.readline()
        assert line, "it ended before its time"
        second = own_program.parse_second(line)
        found += [line] if second and second.tps else []
    return found


def reported(running: subprocess.Popen[str]) -> tuple[dict[str, Any], str]:
    """Its report, and all that it printed since."""
    said, complaints = running.communicate(timeout=ENDS_WITHIN_S)
    assert (running.returncode, complaints) == (0, ""), said
    report: dict[str, Any] = json.loads(said.splitlines()[-1])["report"]
    return report, said


def verdicts(report: dict[str, Any]) -> dict[str, bool]:
    return {one["check"]: one["ok"] for one in report["own"]["findings"]}


def test_every_message_reaches_every_group_once_through_two_pgpools(
    lab: Lab, load: Load, environment: dict[str, str], tmp_path: Path
) -> None:
    servers = [word for one in lab.plan.pgpools[:2] for word in ("--server", f"{one.host}:{one.port}")]

    with load(*servers, duration_s=2, back_off=True, folder=tmp_path) as running:
        report, said = reported(running)

    own = report["own"]
    found = verdicts(report)
    assert (found["exactly_once"], found["all_read"], "throttle_held" in found) == (True, True, True), report
    assert own["is_complete"]
    assert [group["received"] for group in own["groups"]] == [own["published_in_all"]] * 2
    # What was due within the window counts, wherever in time it was read.
    assert own["end_to_end_ms"]["count"] == 2 * (2 * 400 - own["unsent"])
    assert own["end_to_end_ms"]["p50"] > 0
    # 40 batches a second, those that were never sent among them.
    assert (own["publish_ms"]["count"], own["publish_service_ms"]["count"]) == (80, 80 - own["unsent"] // 10)
    assert own["polls"]["saved"] >= 0
    assert own["wal_per_payload"] > 1
    assert not report["is_partial"]
    kept = own_program.parse_latencies((tmp_path / "latencies.json").read_text())
    assert kept.count == own["end_to_end_ms"]["count"]
    assert [own_program.parse_second(line).at_s for line in said.splitlines()[:-1]] == [1, 2]  # type: ignore[union-attr]
    assert environment["PGPASSWORD"] not in said


def test_readers_that_lose_their_session_or_are_killed_leave_nothing_undone(lab: Lab, load: Load) -> None:
    with load(duration_s=4) as running:
        seconds(running, 1)
        with lab.backends.connect(lab.backends.primary) as superuser:
            superuser.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE '%pubsub-reader'"
            )
        seconds(running, 1)
        [_, second] = processes.descendants(running.pid)
        os.kill(second.pid, signal.SIGKILL)
        report, _ = reported(running)

    own = report["own"]
    assert own["errors"]["workers_lost"] == 1
    assert own["errors"]["sessions_lost"] >= 1
    assert report["failed"] >= 1
    # The other process has taken the partitions of its readers over, and what was claimed and not committed.
    found = verdicts(report)
    assert (found["exactly_once"], found["all_read"], found["processes_lost"]) == (True, True, False), report
    for group in own["groups"]:
        assert group["received"] + group["unconfirmed"] == own["published_in_all"]


def test_one_that_is_told_to_end_reports_what_it_had_and_leaves_no_process(load: Load) -> None:
    with load(duration_s=300) as running:
        seconds(running, 1)
        started = processes.descendants(running.pid)
        os.killpg(running.pid, signal.SIGTERM)
        report, _ = reported(running)

        assert report["is_partial"]
        assert report["transactions"] > 0
        assert 1 <= report["own"]["window_s"] < 300
        assert verdicts(report)["exactly_once"]
        assert len(started) == 2
        assert not [one for one in started if one.is_alive]


def test_a_server_that_falls_silent_keeps_no_report(lab: Lab, load: Load) -> None:
    with load(duration_s=300) as running:
        seconds(running, 1)
        with lab.backends.connect(lab.backends.primary) as superuser:
            row = superuser.execute(  # pgpools keep older ones of this name
                "SELECT pid FROM pg_stat_activity WHERE application_name = 'lifeguard-pubsub' "
                "ORDER BY backend_start DESC LIMIT 1"
            ).fetchone()
        assert row is not None
        os.kill(row[0], signal.SIGSTOP)
        try:
            os.killpg(running.pid, signal.SIGTERM)
            report, _ = reported(running)
        finally:
            os.kill(row[0], signal.SIGCONT)

    assert report["is_partial"]
    assert report["transactions"] > 0
    assert verdicts(report)["exactly_once"] is False  # nobody could say where the groups stand
    assert not report["own"]["is_exactly_once"]


def test_processes_of_one_that_is_killed_end_by_themselves(load: Load, wait_until: Callable[..., None]) -> None:
    with load(duration_s=300) as running:
        seconds(running, 1)
        started: Sequence[processes.Process] = processes.descendants(running.pid)
        os.kill(running.pid, signal.SIGKILL)
        running.wait(timeout=ENDS_WITHIN_S)

        assert started
        wait_until(lambda: not any(one.is_alive for one in started), "they have ended")


def test_what_is_not_prepared_or_not_reached_is_told_and_ends_it(load: Load, environment: dict[str, str]) -> None:
    with load(duration_s=1, partitions=3) as running:
        said, _ = running.communicate(timeout=ENDS_WITHIN_S)
    assert "prepare them first" in own_program.parse_failure(said)
    assert running.returncode == 1

    with load(duration_s=1, server="127.0.0.1:1") as running:
        said, _ = running.communicate(timeout=ENDS_WITHIN_S)
    assert "127.0.0.1:1" in own_program.parse_failure(said)
    assert environment["PGPASSWORD"] not in said
