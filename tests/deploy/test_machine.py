"""Ports, folders, processes and the stack that tests run on."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from deploy import machine, processes, teststack
from deploy.own_servers import OwnRedis


def sleeper() -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", "import time; print(flush=True); time.sleep(600)"])


def test_a_port_in_use_is_not_free() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()

        assert not machine.is_port_free(listener.getsockname()[1])


def test_a_free_port_is_none_of_the_well_known_and_none_of_those_taken() -> None:
    first = machine.free_port()

    assert first not in machine.WELL_KNOWN_PORTS
    assert machine.free_port(taken=[first]) != first


def test_a_program_that_is_missing_is_named_with_the_way_out() -> None:
    with pytest.raises(machine.ProgramMissing, match=r"no-such-program is not installed\. Run: make setup"):
        machine.program("no-such-program")


def test_a_folder_where_the_server_account_cannot_look_becomes_a_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "can_server_account_look_into", lambda directory: False)
    wanted = tmp_path / "hidden" / "postgres"

    real = machine.make_server_directory(wanted)

    assert wanted.is_symlink()
    assert wanted.resolve() == real
    assert machine.make_server_directory(wanted) == real
    machine.remove_server_directory(wanted)
    assert not real.exists()
    assert not wanted.is_symlink()


def test_into_a_folder_of_ours_only_the_server_account_looks_where_it_is_our_own(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)

    assert machine.can_server_account_look_into(tmp_path) is (machine.server_account() is None)


def test_a_process_with_the_same_number_but_another_start_is_a_stranger() -> None:
    running = sleeper()
    try:
        known = processes.process(running.pid)
        assert known is not None
        stranger = processes.Process(known.pid, known.started - 1)

        processes.end([stranger], grace_s=0.1)

        assert known.is_alive
        assert not stranger.is_alive
    finally:
        running.kill()
        running.wait()


def test_a_frozen_process_is_ended_too() -> None:
    running = sleeper()
    known = processes.process(running.pid)
    assert known is not None
    running.send_signal(signal.SIGSTOP)

    processes.end([known], grace_s=30)

    # A zombie until we look at it, which counts as gone.
    assert not known.is_alive
    running.wait()


def marked_sleeper(value: str, *, name: str = "LIFEGUARD_TRIAL", before: str = "pass") -> subprocess.Popen[bytes]:
    """Returns once it runs: until its program is loaded, a process shows no environment."""
    code = f"import os, time; {before}; print(flush=True); time.sleep(600)"
    running = subprocess.Popen(
        [sys.executable, "-c", code], env={**os.environ, name: value}, stdout=subprocess.PIPE, cwd="/"
    )
    assert running.stdout is not None
    running.stdout.readline()
    return running


def finish(running: subprocess.Popen[bytes]) -> None:
    running.kill()
    running.communicate()


def test_a_process_is_found_by_its_environment() -> None:
    running = marked_sleeper("/no/such/clone")
    try:
        found = processes.by_environment("LIFEGUARD_TRIAL")

        assert [known.pid for known in found["/no/such/clone"]] == [running.pid]
    finally:
        finish(running)


def test_a_redis_is_found_by_its_environment_too(tmp_path: Path) -> None:
    redis = OwnRedis(tmp_path, machine.free_port(), "secret")
    redis.prepare()
    running = subprocess.Popen(
        redis.command(), env={**os.environ, "LIFEGUARD_TRIAL": str(tmp_path)}, stdout=subprocess.PIPE
    )
    try:
        redis.wait_until_it_answers()

        found = processes.by_environment("LIFEGUARD_TRIAL")

        assert [known.pid for known in found.get(str(tmp_path), [])] == [running.pid]
    finally:
        finish(running)


def test_a_process_that_sees_other_files_than_we_do_is_a_stranger(tmp_path: Path) -> None:
    if os.geteuid() != 0:  # .ci/run is root, so it is never skipped there
        pytest.skip("only root may change the root directory")
    running = marked_sleeper("/same/path", before=f"os.chroot({str(tmp_path)!r})")
    try:
        assert not processes.shares_our_view(running.pid)
        assert "/same/path" not in processes.by_environment("LIFEGUARD_TRIAL")
        assert processes.shares_our_view(os.getpid())
    finally:
        finish(running)


def test_a_process_is_found_among_the_descendants_of_who_started_it() -> None:
    running = sleeper()
    try:
        assert running.pid in [found.pid for found in processes.descendants(os.getpid())]
    finally:
        running.kill()
        running.wait()


def test_what_a_killed_run_left_is_removed_and_a_living_one_is_left_alone(tmp_path: Path) -> None:
    running = sleeper()
    try:
        known = processes.process(running.pid)
        assert known is not None
        for name, started in (("dead", known.started - 1), ("alive", known.started)):
            (tmp_path / name).mkdir()
            (tmp_path / name / "owner.json").write_text(json.dumps({"pid": known.pid, "started": started}))

        teststack.remove_leftovers(tmp_path)

        assert [run.name for run in tmp_path.iterdir()] == ["alive"]
    finally:
        running.kill()
        running.wait()


def test_what_still_runs_of_a_killed_run_is_ended_and_a_living_runs_is_left_alone() -> None:
    owner = teststack.this_process()
    dead = processes.Process(owner.pid, owner.started - 1)
    orphan, child = (marked_sleeper(teststack.mark_of(one), name=teststack.MARK) for one in (dead, owner))
    stranger = marked_sleeper("of another program", name=teststack.MARK)
    try:
        teststack.end_orphans()

        assert processes.process(orphan.pid) is None
        assert child.poll() is None
        assert stranger.poll() is None
    finally:
        for running in (orphan, child, stranger):
            finish(running)


def test_a_run_that_was_killed_is_cleared_away_by_the_next() -> None:
    code = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
    command = [sys.executable, "-m", "deploy.teststack", "run", "--no-servers", "--", sys.executable, "-c", code]
    killed = subprocess.Popen(command, cwd=teststack.CLONE, stdout=subprocess.PIPE, text=True)
    assert killed.stdout is not None
    test_pid = int(killed.stdout.readline())
    killed.kill()
    killed.wait()
    assert processes.process(test_pid) is not None

    teststack.run(["true"], with_servers=False)

    assert processes.process(test_pid) is None
    assert not list(teststack.RUNS.glob(f"{killed.pid}-*"))
    killed.stdout.close()


def test_what_a_run_left_running_ends_with_it() -> None:
    code = "import subprocess, sys; print(subprocess.Popen(['sleep', '600'], stdout=subprocess.DEVNULL).pid)"
    command = [sys.executable, "-m", "deploy.teststack", "run", "--no-servers", "--", sys.executable, "-c", code]

    done = subprocess.run(command, cwd=teststack.CLONE, capture_output=True, text=True, check=True)

    assert processes.process(int(done.stdout)) is None


def test_the_commands_exit_code_is_the_runs() -> None:
    exits_with_3 = [sys.executable, "-c", "raise SystemExit(3)"]

    assert teststack.run(exits_with_3, with_servers=False) == 3
