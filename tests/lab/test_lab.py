"""The lab itself: what comes up, what the faults do, and that nothing stays behind."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from deploy.lab import Lab, ledger, processes, shared_memory
from deploy.lab.account import private_folder, server_account
from deploy.lab.plan import UnknownServer

Wait = Callable[..., None]


def status_of(lab: Lab, name: str) -> str:
    return next(server.state for server in lab.status() if server.name == name)


def node(lab: Lab, number: int, node_id: int) -> dict[str, str]:
    return lab.pgpools.nodes(lab.plan.pgpools[number])[node_id]


def shown(lab: Lab, node_id: int) -> set[str]:
    """What the pgpools say about a backend. One that fails over just now cuts its sessions: no answer."""
    try:
        return {node(lab, number, node_id)["status"] for number in range(len(lab.plan.pgpools))}
    except psycopg.OperationalError:
        return {"no answer"}


def lag_bytes(lab: Lab, name: str) -> int:
    """As the primary sees it."""
    query = (
        "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn) FROM pg_stat_replication WHERE application_name = %s"
    )
    with lab.backends.connect(lab.plan.backends[0]) as connection:
        row: Any = connection.execute(query, [name]).fetchone()
    return int(row[0])


def mapped(pid: int) -> str:
    """The files that a process has in its memory; a session may be over by now."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/maps").read_text()
    return ""


def write_some_wal(lab: Lab) -> None:
    with lab.backends.connect(lab.plan.backends[0], "shop") as connection:
        connection.execute("UPDATE accounts SET balance = balance + 1 WHERE id <= 2000")


def test_every_pgpool_shows_one_primary_and_two_standbys_up(lab: Lab) -> None:
    for pgpool in lab.plan.pgpools:
        rows = lab.pgpools.nodes(pgpool)

        assert [(row["role"], row["status"]) for row in rows] == [
            ("primary", "up"),
            ("standby", "up"),
            ("standby", "up"),
        ]
        assert [float(row["lb_weight"]) for row in rows] == [0, 0.5, 0.5]


def test_pgpool_shows_the_replication_state_of_the_standbys(lab: Lab, wait_until: Wait) -> None:
    for number in range(len(lab.plan.pgpools)):
        for node_id in (1, 2):
            wait_until(
                lambda number=number, node_id=node_id: node(lab, number, node_id)["replication_state"] == "streaming",
                f"backend {node_id} streams",
            )


def test_the_monitoring_role_reads_statistics_and_cannot_write(lab: Lab) -> None:
    with lab.pgpools.connect(lab.plan.pgpools[0]) as connection:
        role: Any = connection.execute(
            "SELECT rolsuper, rolcreatedb, rolcreaterole, rolreplication, pg_has_role(rolname, 'pg_monitor', 'usage')"
            " FROM pg_roles WHERE rolname = current_user"
        ).fetchone()
        assert role == (False, False, False, False, True)

        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("CREATE TABLE public.not_allowed ()")


def test_a_wrong_password_is_refused(lab: Lab) -> None:
    pgpool = lab.plan.pgpools[0]

    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(host=pgpool.host, port=pgpool.port, user="lifeguard", password="wrong", dbname="postgres")


def test_a_killed_standby_is_shown_down_and_comes_back_with_start(restored_lab: Lab, wait_until: Wait) -> None:
    restored_lab.kill("pg2")

    assert status_of(restored_lab, "pg2") == "stopped"
    wait_until(lambda: shown(restored_lab, 1) == {"down"}, "pg2 is shown down")

    restored_lab.start("pg2")

    wait_until(lambda: shown(restored_lab, 1) == {"up"}, "pg2 is up again")


def test_a_frozen_pgpool_accepts_and_does_not_answer(restored_lab: Lab) -> None:
    restored_lab.freeze("pgpool-2")

    assert status_of(restored_lab, "pgpool-2") == "frozen"
    with pytest.raises(psycopg.errors.ConnectionTimeout):
        restored_lab.pgpools.connect(restored_lab.plan.pgpools[1])

    restored_lab.resume("pgpool-2")

    assert status_of(restored_lab, "pgpool-2") == "running"
    assert node(restored_lab, 1, 0)["status"] == "up"


def test_a_killed_pgpool_leaves_no_child_and_starts_again_on_its_port(restored_lab: Lab) -> None:
    restored_lab.kill("pgpool-3")

    assert restored_lab.pgpools.pids(restored_lab.plan.pgpools[2]) == []
    with pytest.raises(psycopg.OperationalError):
        restored_lab.pgpools.connect(restored_lab.plan.pgpools[2])

    restored_lab.start("pgpool-3")

    assert node(restored_lab, 2, 0)["status"] == "up"


def test_paused_replay_makes_lag_and_resumed_replay_ends_it(restored_lab: Lab, wait_until: Wait) -> None:
    restored_lab.pause_replay("pg3")
    write_some_wal(restored_lab)

    wait_until(lambda: int(node(restored_lab, 0, 2)["replication_delay"]) > 100_000, "pgpool shows the lag of pg3")
    assert lag_bytes(restored_lab, "pg3") > 100_000

    restored_lab.resume_replay("pg3")

    wait_until(lambda: lag_bytes(restored_lab, "pg3") == 0, "pg3 has caught up")


def test_the_primary_has_no_replay_to_pause(lab: Lab) -> None:
    with pytest.raises(UnknownServer, match="no standby"):
        lab.pause_replay("pg1")


def test_an_edited_pgpool_conf_survives_down_and_up_and_nothing_runs_between(tmp_path: Path) -> None:
    lab = Lab(tmp_path / "own", pgpool_count=1, num_init_children=4)
    try:
        lab.up()
        before = lab.addresses
        conf = Path(lab.plan.pgpools[0].conf)
        lab.account.file(conf, conf.read_text().replace("backend_weight1 = 500", "backend_weight1 = 1500"))

        lab.down()
        assert [server.state for server in lab.status()] == ["stopped"] * 4

        lab.up()
        assert lab.addresses == before
        assert float(node(lab, 0, 1)["lb_weight"]) == 0.75  # 1500 / (1500 + 500)
    finally:
        lab.forget()


def test_children_of_a_killed_pgpool_are_ended_by_the_next_up(tmp_path: Path, wait_until: Wait) -> None:
    lab = Lab(tmp_path / "own", pgpool_count=1, num_init_children=4)
    try:
        lab.up()
        pgpool = lab.plan.pgpools[0]
        parent, *children = processes.members(lab.pgpools.folder(pgpool), lab.account)
        os.kill(parent.pid, signal.SIGKILL)
        wait_until(lambda: processes.look_up(parent.pid) is None, "the parent is gone")

        lab.up()

        living = set(lab.pgpools.pids(pgpool))
        assert children
        assert not living & {child.pid for child in (parent, *children)}
        assert node(lab, 0, 0)["status"] == "up"
    finally:
        lab.forget()


def test_servers_that_were_killed_all_at_once_leave_no_memory_behind(tmp_path: Path) -> None:
    lab = Lab(tmp_path / "own", pgpool_count=1, num_init_children=4)
    try:
        lab.up()
        folder = Path(lab.addresses["data"])
        killed = [process.pid for process in processes.members(folder, lab.account)]
        assert shared_memory.segments_of(killed)
        assert not [pid for pid in killed if "/dev/shm/" in mapped(pid)]
        processes.kill(folder, lab.account)

        lab.down()

        assert shared_memory.segments_of(killed) == {}
    finally:
        lab.forget()


def test_a_segment_that_nobody_can_find_any_more_is_released_and_one_in_use_is_kept() -> None:
    account = server_account()
    code = "import ctypes; print(ctypes.CDLL(None).shmget(0, 1, 0o1600), flush=True); input()"
    gone, living = (
        subprocess.Popen(
            [*account.prefix, "/usr/bin/python3", "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd="/",
        )
        for _ in range(2)
    )
    try:
        assert gone.stdout is not None
        assert living.stdout is not None
        lost, kept = int(gone.stdout.readline()), int(living.stdout.readline())
        gone.communicate("\n")

        shared_memory.release(shared_memory.unusable(account), account)

        assert lost not in shared_memory.segments_of([gone.pid])
        assert kept in shared_memory.segments_of([living.pid])
    finally:
        living.communicate("\n")
        shared_memory.release(shared_memory.unusable(account), account)


@pytest.mark.parametrize("is_noted", [True, False], ids=["up", "still starting"])
def test_a_lab_whose_owner_died_is_ended_by_the_next_up_of_another_lab(tmp_path: Path, is_noted: bool) -> None:
    owner = subprocess.Popen(["sleep", "600"])
    orphan, other = (Lab(tmp_path / name, pgpool_count=1, num_init_children=4) for name in ("orphan", "other"))
    try:
        orphan.belongs_to(owner.pid)
        orphan.up()
        if not is_noted:
            (private_folder(orphan.root) / ledger.NAME).unlink()
        owner.kill()
        owner.wait()

        other.up()

        assert [server.state for server in orphan.status()] == ["stopped"] * 4
        assert [server.state for server in other.status()] == ["running"] * 4
    finally:
        owner.kill()
        orphan.forget()
        other.forget()
