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


def test_a_folder_of_root_only_is_one_where_the_server_account_cannot_look(tmp_path: Path) -> None:
    if machine.server_account() is None:
        pytest.skip("not root: the server account is our own")
    tmp_path.chmod(0o700)

    assert not machine.can_server_account_look_into(tmp_path)


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


def test_a_process_is_found_by_its_environment() -> None:
    running = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(600)"], env={**os.environ, "LIFEGUARD_TRIAL": "/no/such/clone"}
    )
    try:
        found = processes.by_environment("LIFEGUARD_TRIAL")

        assert [known.pid for known in found["/no/such/clone"]] == [running.pid]
    finally:
        running.kill()
        running.wait()


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


def test_the_commands_exit_code_is_the_runs() -> None:
    exits_with_3 = [sys.executable, "-c", "raise SystemExit(3)"]

    assert teststack.run(exits_with_3, with_servers=False) == 3
