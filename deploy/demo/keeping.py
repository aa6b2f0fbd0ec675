"""Keeps the demo's programs alive with supervisor, and ends what a killed demo left, of this clone or another."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from deploy import processes
from deploy.demo.place import MARK, Place, write_privately
from deploy.processes import Process


class KeeperDied(RuntimeError):
    """The demo's supervisor ended by itself."""


def keeper_of(directory: Path) -> Process | None:
    """The living supervisor of the demo in this directory."""
    try:
        known = Process(**json.loads((directory / "keeper.json").read_text()))
    except (OSError, ValueError, TypeError):
        return None
    return known if known.is_alive else None


def note_keeper(place: Place, pid: int) -> Process:
    known = processes.process(pid)
    if known is None:
        raise KeeperDied(f"supervisor did not start. Its log: {place.logs / 'supervisor.log'}")
    write_privately(place.keeper, json.dumps({"pid": known.pid, "started": known.started}))
    return known


def start(place: Place, configuration: str) -> Process:
    path = place.directory / "supervisor.conf"
    write_privately(path, configuration)
    place.logs.mkdir(exist_ok=True)
    shutil.rmtree(place.scratch, ignore_errors=True)
    place.scratch.mkdir()
    with (place.logs / "supervisor.log").open("ab") as log:
        # In a session of its own: Ctrl-C reaches the person's command, which then stops everything in order.
        started = subprocess.Popen(
            [sys.executable, "-m", "supervisor.supervisord", "--configuration", str(path)],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=place.directory, start_new_session=True,
            env={**os.environ, "TMPDIR": str(place.scratch)},
        )  # fmt: skip
    return note_keeper(place, started.pid)


def stop(place: Place) -> None:
    """Ask supervisor to stop the programs, the latest started first; then end what is still there."""
    keeper = keeper_of(place.directory)
    # Until supervisor is there, the command that starts the demo is noted as the keeper.
    if keeper is not None and keeper.pid != os.getpid():
        programs = processes.descendants(keeper.pid)
        processes.end([keeper], grace_s=75)
        processes.end(programs, grace_s=5)
    place.keeper.unlink(missing_ok=True)
    shutil.rmtree(place.scratch, ignore_errors=True)


def marked(directory: str) -> list[Process]:
    return [known for known in processes.by_environment(MARK).get(directory, []) if known.pid != os.getpid()]


def end_marked(directory: str) -> None:
    """All that carries the mark of a demo. PostgreSQL takes TERM for `wait for all clients`, so INT comes first."""
    for with_signal in (signal.SIGINT, signal.SIGTERM):
        others = marked(directory)
        if not others:
            return
        for known in others:
            processes.send(known, with_signal)
            processes.send(known, signal.SIGCONT)
        processes.wait_until_gone(others, deadline_s=8)
    processes.end(marked(directory), with_signal=signal.SIGKILL, grace_s=0)


def end_leftovers(place: Place) -> None:
    """Demos whose supervisor is gone: this one's own first, then those of other clones. A living one is left alone."""
    for directory in processes.by_environment(MARK):
        if keeper_of(Path(directory)) is None:
            end_marked(directory)
    place.keeper.unlink(missing_ok=True)
