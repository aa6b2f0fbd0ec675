"""Calibrations of the query cache against the real cluster: real scratch pgpools, a real memcached, real reads."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from apps.benchmarks.control import run_engine, run_rows
from apps.benchmarks.models import BenchmarkRun
from apps.clusters.models import Cluster, InstanceConfig
from deploy.lab import Lab
from tests.clusters.callers_at_doors import script
from tests.lab.asked_runs import carried_out

pytestmark = pytest.mark.django_db(transaction=True)

CACHE = "/api/v1/clusters/orders/cache/"
# Scratch programs stand in a folder of this name.
MARK = "lg-cache-"
ENDS_WITHIN_S = 20.0


@pytest.fixture
def calibratable(loadable: Lab) -> Iterator[Lab]:
    """orders, with the file of each pgpool known; no scratch program and no shared memory is left behind."""
    cluster = Cluster.objects.get(slug="orders")
    for pgpool in loadable.plan.pgpools:
        text = Path(pgpool.conf).read_text(encoding="utf-8")
        instance = cluster.instances.get(name=pgpool.name)
        InstanceConfig.objects.update_or_create(
            instance=instance, defaults={"file_text": text, "file_sha256": "0" * 64}
        )
    before = segments()
    yield loadable
    until_true(lambda: not scratch_processes(), "scratch programs have ended")
    until_true(lambda: segments() <= before, "their shared memory is gone")


def scratch_processes() -> list[int]:
    """Of pgpools and memcached, by the folder that they work in; children have it, too."""
    found = []
    for each in Path("/proc").iterdir():
        if each.name.isdigit():
            try:
                place = str((each / "cwd").readlink())
            except OSError:
                continue
            if MARK in place:
                found.append(int(each.name))
    return found


def segments() -> set[int]:
    """Of System V shared memory, those of whoever runs the scratch pgpools."""
    rows = [line.split() for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]]
    return {int(row[1]) for row in rows if int(row[7]) == os.geteuid()}


def until_true(is_so: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + ENDS_WITHIN_S
    while not is_so():
        assert time.monotonic() < until, what
        time.sleep(0.1)


def asked(**changes: Any) -> BenchmarkRun:
    wish = {"clients": 2, "slice_s": 1, "duration_s": 26, "hot_keys": 20, **changes}
    answer = script("operator").post(f"{CACHE}calibrations/", wish, format="json")
    assert answer.status_code == 202, answer.content
    return BenchmarkRun.objects.get(pk=answer.json()["id"])


def selects(lab: Lab) -> int:
    """That the real pgpools have sent to backends."""
    return sum(int(row["select_cnt"]) for pgpool in lab.plan.pgpools for row in lab.pgpools.nodes(pgpool))


def test_shared_memory_and_memcached_are_measured_beside_no_cache(calibratable: Lab) -> None:
    before = selects(calibratable)

    run = carried_out(asked(storage="both", duration_s=35))

    assert (run.state, run.error) == ("done", "")
    [own] = run.result["own"].values()
    points = own["cache_points"]
    assert [one["storage"] for one in points].count("shmem") == 7
    assert [one["storage"] for one in points].count("memcached") == 7
    assert all(abs(one["hit_ratio"] - one["level"]) < 0.1 for one in points)
    assert all(one["tps"] > 0 and one["no_cache_tps"] > 0 for one in points)
    assert own["caches"]["shmem"]["entries"] > 20
    assert own["caches"]["memcached"]["entries"] == 0  # pgpool does not tell
    assert [one for one in run.findings if one["check"].startswith("cache_")] == []
    # Its reads went to the backends by pgpools of its own.
    assert selects(calibratable) - before < 0.01 * run.result["transactions"]
    body = script("viewer").get(CACHE).json()
    assert [one["storage"] for one in body["calibration"]["curves"]] == ["shmem", "memcached"]
    assert calibratable.addresses["app"]["password"] not in str(script("viewer", organisation="x").get(CACHE).content)
    outputs = " ".join(run.outputs.values_list("output", flat=True)) + " ".join(
        run.outputs.values_list("command", flat=True)
    )
    assert calibratable.addresses["app"]["password"] not in outputs


def test_writes_to_the_table_empty_its_cache(calibratable: Lab) -> None:
    before = written(calibratable)

    run = carried_out(asked(writes_up_to_per_s=100, duration_s=45))

    assert (run.state, run.error) == ("done", "")
    [own] = run.result["own"].values()
    rows = sorted(own["cache_writes"], key=lambda row: row["wanted_per_s"])
    assert [row["wanted_per_s"] for row in rows] == [1, 3, 10, 32, 100]
    # Once a second is chance in a slice of a second.
    assert all(row["write_latency_ms"] > 0 and row["no_cache_write_latency_ms"] > 0 for row in rows[2:])
    # With twenty hot keys each write costs up to twenty hits.
    assert rows[-1]["hit_ratio"] < rows[0]["hit_ratio"] <= 0.97
    # About as many rows as both sides tell of, in slices of about a second.
    told = sum(row["writes_per_s"] + row["no_cache_writes_per_s"] for row in rows)
    assert written(calibratable) - before == pytest.approx(told, rel=0.4)
    # What was asked for after the last write is still kept, under the same text; where a write came last, nothing is.
    assert any(row["kept_keys"] for row in rows)
    assert all(row["kept_keys"] <= 20 and row["stale_keys"] <= row["kept_keys"] for row in rows)
    body = script("viewer").get(CACHE).json()
    assert body["under_writes"]["curves"][0]["state"] == "unsure"  # one block says nothing of its noise
    assert body["under_writes"]["curves"][0]["sentence"].startswith("One block of pairs")


def written(lab: Lab) -> int:
    """Rows of the accounts that the primary has updated, as its statistics tell once they are flushed."""
    with lab.backends.connect(lab.backends.primary, lab.addresses["app"]["database"]) as session:
        session.execute("SELECT pg_sleep(1.1)")
        row = session.execute(
            "SELECT coalesce(sum(n_tup_upd), 0) FROM pg_stat_user_tables WHERE relname = 'pgbench_accounts'"
        ).fetchone()
    assert row is not None
    return int(row[0])


def test_a_select_that_is_never_kept_is_told(calibratable: Lab) -> None:
    run = carried_out(asked(sql="SELECT now(), abalance FROM pgbench_accounts WHERE aid = :key"))

    assert run.state == "done"
    assert "cache_answers" in {one["check"] for one in run.findings if not one["ok"]}


def under_way(run: BenchmarkRun) -> threading.Thread:
    def carry_out() -> None:
        from django.db import connection

        try:
            run_engine.carry_out(run_id=run.pk, holder="test", clock=timezone.now)
        finally:
            connection.close()

    thread = threading.Thread(target=carry_out)
    thread.start()
    until_true(run.samples.exists, "its first seconds are measured")
    assert scratch_processes()
    return thread


def test_one_that_is_stopped_leaves_nothing_behind(calibratable: Lab) -> None:
    run = asked(duration_s=120)
    thread = under_way(run)

    script("admin").post(f"/api/v1/benchmarks/runs/{run.pk}/stop/")
    thread.join(ENDS_WITHIN_S)

    run.refresh_from_db()
    assert (run.state, run.stop_reason) == ("stopped", "stopped by Admin")


def test_a_program_that_is_killed_takes_its_pgpools_with_it(calibratable: Lab) -> None:
    run = asked(duration_s=120)
    thread = under_way(run)

    os.kill(program_of(run), signal.SIGKILL)
    thread.join(ENDS_WITHIN_S)

    run.refresh_from_db()
    assert run.state == "failed"
    assert "ended with status -9" in run.error


def program_of(run: BenchmarkRun) -> int:
    [found] = [
        int(each.name)
        for each in Path("/proc").iterdir()
        if each.name.isdigit() and b"apps.benchmarks.drivers.query_cache\0load" in command_line(each)
    ]
    return found


def command_line(process: Path) -> bytes:
    """Empty of one that has ended meanwhile."""
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""


def test_a_file_that_pgpool_cannot_start_from_fails_with_its_words(calibratable: Lab) -> None:
    config = InstanceConfig.objects.get(instance__name="pgpool-1")
    config.file_text = config.file_text.replace("memqcache_total_size = 16777216", "memqcache_total_size = 1")
    config.save()

    run = carried_out(asked())

    assert run.state == "failed"
    assert "the scratch pgpool with" in run.error
    assert "memqcache_total_size" in run.error
    assert run_rows.claim(run.pk, holder="other", now=timezone.now()) is None


def test_a_memcached_that_freezes_ends_it_in_time_with_a_sentence(calibratable: Lab) -> None:
    run = asked(storage="memcached", duration_s=120)
    thread = under_way(run)
    [memcached] = [pid for pid in scratch_processes() if Path(f"/proc/{pid}/comm").read_text().strip() == "memcached"]

    os.kill(memcached, signal.SIGSTOP)
    thread.join(3 * ENDS_WITHIN_S)

    run.refresh_from_db()
    assert not thread.is_alive()
    assert run.state == "failed"
    assert "the scratch pgpool with memcached" in run.error
