"""The suite in two processes: a small one, run as the whole is."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from deploy import teststack
from tests.side_by_side import chunk_of

# Each test tells who ran it: the process, its Redis, and when it was its turn.
TELLING = """
import os, pathlib, time

def test_it():
    told = os.environ["PYTEST_XDIST_WORKER"], os.environ.get("LIFEGUARD_REDIS_URL", "none"), str(time.monotonic_ns())
    (pathlib.Path(os.environ["TOLD"]) / {name!r}).write_text(" ".join(told))
"""
FAILS_ONCE = """
import pathlib, pytest

@pytest.mark.flaky(reruns=1)
def test_that_needs_two_tries(tmp_path_factory):
    tried = pathlib.Path(__file__).with_suffix(".tried")
    if not tried.exists():
        tried.touch()
        raise AssertionError
"""
HEAVY = ("lab/test_a.py", "lab/test_b.py", "browser/test_c.py", "stack/test_d.py")
OTHERS = tuple(f"clusters/test_{number}.py" for number in range(4))


def run(folder: Path, files: dict[str, str], **environment: str) -> str:
    """What pytest says of these files below tests/."""
    for name, text in files.items():
        path = folder / "tests" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    command = [sys.executable, "-m", "pytest", "-n", "2", "--import-mode=importlib", "-p", "tests.side_by_side"]
    command += ["-p", "xdist", "-p", "rerunfailures", "-rR", "--durations=1"]
    known = {name: value for name, value in os.environ.items() if not name.startswith(("LIFEGUARD_", "PYTEST_"))}
    known["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    known["PYTHONPATH"] = os.pathsep.join([str(teststack.CLONE), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [*command, "tests"], cwd=folder, env={**known, **environment},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("nodeid", "chunk"),
    [
        ("tests/lab/test_lab.py::test_it[one::two]", "heavy"),
        ("tests/stack/test_chaos.py::test_it", "heavy"),
        ("tests/stack/test_demo_commands.py::test_it", "tests/stack/test_demo_commands.py"),
        ("tests/clusters/domain/test_lag.py::test_it", "tests/clusters/domain/test_lag.py"),
        ("tests/test_checks.py::test_it[code]", "tests/test_checks.py"),
    ],
)
def test_files_are_handed_out_whole_and_what_needs_real_servers_as_one(nodeid: str, chunk: str) -> None:
    assert chunk_of(nodeid) == chunk


def test_one_process_does_all_that_needs_real_servers_and_each_has_its_own_redis(tmp_path: Path) -> None:
    told, servers = tmp_path / "told", tmp_path / "servers"
    told.mkdir()
    servers.mkdir()
    files = {name: TELLING.format(name=Path(name).name) for name in (*HEAVY, *OTHERS)}

    said = run(tmp_path / "suite", files, TOLD=str(told), **{teststack.FOLDER: str(servers)})

    assert f"{len(files)} passed" in said.splitlines()[-1]
    workers = {path.name: path.read_text().split() for path in told.iterdir()}
    assert len(workers) == len(files)
    assert len({workers[Path(name).name][0] for name in HEAVY}) == 1
    assert {worker for worker, _, _ in workers.values()} == {"gw0", "gw1"}
    redis_of = {(worker, redis) for worker, redis, _ in workers.values()}
    assert len({redis for _, redis in redis_of}) == len(redis_of) == 2
    assert "none" not in {redis for _, redis in redis_of}


def test_a_second_try_is_counted_and_named_and_durations_are_told(tmp_path: Path) -> None:
    said = run(tmp_path, {"clusters/test_x.py": FAILS_ONCE, "clusters/test_y.py": "def test_it(): pass\n"})

    assert "2 passed, 1 rerun" in said.splitlines()[-1]
    assert "RERUN tests/clusters/test_x.py::test_that_needs_two_tries" in said
    assert "slowest" in said
