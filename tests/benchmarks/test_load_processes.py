"""Programs that make load: read, ended for good, and gone with a worker that was killed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from apps.benchmarks.drivers import processes as processes_of_load
from apps.benchmarks.drivers.processes import LEFT_OUT, Command, NotStarted, Processes

# Ends neither by TERM nor with what started it.
STUBBORN = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print(os.getpid(), flush=True)
time.sleep(600)
"""
WORKER = f"""
import sys, time
from apps.benchmarks.drivers.processes import Command, Processes
with Processes([Command("load", [sys.executable, "-c", {STUBBORN!r}])]) as processes:
    print(processes.read(within_s=60)[0].text, flush=True)
    time.sleep(600)
"""


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until_gone(pid: int) -> None:
    deadline = time.monotonic() + 60
    while is_running(pid):
        assert time.monotonic() < deadline, f"{pid} still runs"
        time.sleep(0.05)


def test_what_several_print_is_read_while_they_run_and_kept() -> None:
    commands = [Command(name, [sys.executable, "-c", f"print('I am {name}')"]) for name in ("one", "two")]

    with Processes(commands) as processes:
        lines = []
        while processes.are_running or len(lines) < 2:
            lines += processes.read(within_s=0.1)

    assert sorted((line.process, line.text) for line in lines) == [("one", "I am one"), ("two", "I am two")]
    assert [(one.output, one.exit_code) for one in processes.started] == [("I am one\n", 0), ("I am two\n", 0)]


def test_one_that_does_not_go_is_killed() -> None:
    with Processes([Command("load", [sys.executable, "-c", STUBBORN])]) as processes:
        [line] = processes.read(within_s=60)

    assert processes.started[0].exit_code == -signal.SIGKILL
    assert not is_running(int(line.text))


def test_a_program_that_is_not_there_is_named_and_nothing_is_left_running() -> None:
    commands = [Command("load", [sys.executable, "-c", STUBBORN]), Command("other", ["/nowhere/pgbench"])]
    processes = Processes(commands)

    with pytest.raises(NotStarted) as refused:
        processes.__enter__()

    assert "/nowhere/pgbench" in str(refused.value)
    assert processes.started[0].exit_code is not None


def test_of_a_long_output_the_begin_and_the_report_at_the_end_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes_of_load, "MOST_KEPT", 100)
    program = "print('begin'); [print('error', n) for n in range(1000)]; print('report')"

    with Processes([Command("load", [sys.executable, "-c", program])]) as processes:
        processes.started[0].wait(until=time.monotonic() + 60)

    output = processes.started[0].output
    assert output.startswith("begin\nerror 0\n")
    assert output.endswith("error 999\nreport\n")
    assert output.count(LEFT_OUT) == 1
    assert len(output) < 400


def test_load_ends_with_a_worker_that_is_killed() -> None:
    worker = subprocess.Popen([sys.executable, "-c", WORKER], stdout=subprocess.PIPE, text=True, cwd=Path.cwd())
    assert worker.stdout is not None
    pid = int(worker.stdout.readline())
    assert is_running(pid)

    os.kill(worker.pid, signal.SIGKILL)
    worker.wait()

    wait_until_gone(pid)
