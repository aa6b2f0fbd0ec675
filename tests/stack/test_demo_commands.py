"""The demo as a person starts and stops it: twice up, killed, up again, down, forgotten."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deploy import machine, processes
from deploy.demo import dashboard
from deploy.demo.place import MARK, Place
from deploy.processes import Process

CLONE = Path(__file__).parent.parent.parent
pytestmark = pytest.mark.timeout(600)


class Demo:
    def __init__(self, root: Path) -> None:
        self.place = Place(root)

    def command(self, name: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "deploy.demo", "--root", str(self.place.root), name],
            cwd=CLONE,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{name}\n{done.stdout}\n{done.stderr}\n{self.logs()}"
        return done.stdout

    def logs(self) -> str:
        found = sorted(self.place.logs.glob("*.log")) if self.place.logs.is_dir() else []
        return "\n".join(f"== {log.name}\n{log.read_text(errors='replace')[-2000:]}" for log in found)

    @property
    def said(self) -> dict[str, Any]:
        said: dict[str, Any] = json.loads(self.place.announcement.read_text())
        return said

    @property
    def processes(self) -> list[Process]:
        return processes.by_environment(MARK).get(str(self.place.directory), [])

    def ask(self, path: str, method: str = "GET") -> dashboard.Answer:
        return dashboard.ask(f"{self.said['url']}/api/v1/{path}", token=self.said["api_token"], method=method)


def shared_memory_of(pids: set[int]) -> set[str]:
    """Ids of System V segments that these processes made."""
    lines = Path("/proc/sysvipc/shm").read_text().splitlines()
    names = lines[0].split()
    segments = [dict(zip(names, line.split(), strict=True)) for line in lines[1:]]
    return {segment["shmid"] for segment in segments if int(segment["cpid"]) in pids}


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Demo]:
    demo = Demo(tmp_path)
    yield demo
    demo.command("reset")


def registered(demo: Demo) -> list[tuple[object, ...]]:
    """What was entered about the pgpools; what was seen of them changes with every poll."""
    content = demo.ask(f"clusters/{demo.said['cluster']}/").content
    return [
        (one["id"], one["name"], one["host"], one["port"], one["az"], one["delivery"]) for one in content["pgpools"]
    ]


def wait_for(what: str, is_so: Any, *, deadline_s: float = 60.0) -> None:
    ends_at = time.monotonic() + deadline_s
    while not is_so():
        assert time.monotonic() < ends_at, what
        time.sleep(0.2)


def test_a_demo_comes_up_once_outlives_a_kill_of_everything_and_goes_down_without_a_trace(demo: Demo) -> None:
    demo.command("up")
    first, running = demo.said, set(demo.processes)
    demo.command("up")

    assert demo.said == first
    assert {known for known in running if known.is_alive} == running
    assert set(first) >= {"url", "email", "password", "api_token", "cluster", "pgpool_ports", "backend_ports"}
    assert (len(first["pgpool_ports"]), len(first["backend_ports"])) == (3, 3)
    assert demo.ask(f"clusters/{first['cluster']}/").status == 200
    assert demo.place.announcement.stat().st_mode & 0o077 == 0
    tried = demo.ask(f"clusters/{first['cluster']}/endpoints/pgbouncer/try/", method="POST").content
    assert (tried["is_open"], tried["refusal"]) == (True, "")

    before = registered(demo)
    for known in demo.processes:
        processes.send(known, signal.SIGKILL)
    wait_for("all of it is dead", lambda: demo.processes == [])
    demo.command("up")

    assert demo.said == first
    assert registered(demo) == before

    ever = {one.pid for one in (*running, *demo.processes)}
    demo.command("down")

    assert demo.processes == []
    web_port = int(first["url"].rpartition(":")[2])
    assert all(machine.is_port_free(port) for port in (web_port, *first["pgpool_ports"], *first["backend_ports"]))
    wait_for("no memory is left", lambda: not shared_memory_of(ever))


def test_ctrl_c_stops_all_of_it(demo: Demo) -> None:
    running = subprocess.Popen(
        [sys.executable, "-m", "deploy.demo", "--root", str(demo.place.root), "run"],
        cwd=CLONE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    assert running.stdout is not None
    said = ""
    for line in running.stdout:
        said += line
        if "Ctrl-C stops everything" in line:
            break
    assert demo.processes, said

    # A terminal sends it to every process of the group.
    os.killpg(running.pid, signal.SIGINT)
    said += running.communicate(timeout=120)[0]

    assert running.returncode == 0, said
    assert "Nothing is left running" in said
    assert demo.processes == []
