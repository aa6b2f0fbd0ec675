"""Which processes belong to one server of the lab, and how to stop, freeze and end them.

A server's processes are known by their working directory: children keep it when their parent is killed, and Pgpool-II's
then go on serving.
"""

import contextlib
import os
import signal
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from deploy.lab.account import Account
from deploy.lab.binaries import SYSTEM_PATH
from deploy.processes import shares_our_view

PROGRAMS = frozenset({"postgres", "pgpool"})
GONE_WITHIN_S = 60.0  # those of a pgpool are many, and the machine may be busy
ENV = {"PATH": SYSTEM_PATH, "LC_ALL": "C.UTF-8", "TZ": "UTC"}
# Those that see other files or other process numbers than we do are none of ours (a container, a chroot).
_LOOK = """\
ours=$(readlink /proc/self/ns/pid)
for pid; do
  [ /proc/$pid/root -ef / ] && [ "$(readlink /proc/$pid/ns/pid)" = "$ours" ] && echo "$pid $(readlink /proc/$pid/cwd)"
done; true"""


@dataclass(frozen=True)
class Process:
    """started: clock ticks since boot, which tells a process from a later one with the same number."""

    pid: int
    parent: int
    state: str
    started: int

    @property
    def is_stopped(self) -> bool:
        return self.state in "Tt"


def look_up(pid: int) -> Process | None:
    """None if it is gone; a zombie is gone too."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    if fields[0] in "ZX":
        return None
    return Process(pid=pid, state=fields[0], parent=int(fields[1]), started=int(fields[19]))


def members(folder: Path, account: Account) -> list[Process]:
    """The living processes of the server whose working directory is `folder`, parent first."""
    hidden: list[int] = []
    found: list[int] = []
    for pid in _servers():
        try:
            cwd = str(Path(f"/proc/{pid}/cwd").readlink())
        except PermissionError:
            hidden.append(pid)  # root of a container without CAP_SYS_PTRACE: only their owner may look
        except OSError:
            continue
        else:
            found += [pid] if _is_below(cwd, folder) and shares_our_view(pid) else []
    if hidden and account.prefix:
        found += _ask_owner(hidden, folder, account)
    processes = [process for pid in found if (process := look_up(pid)) is not None]
    pids = {process.pid for process in processes}
    return sorted(processes, key=lambda process: (process.parent in pids, process.started, process.pid))


def _servers() -> list[int]:
    pids = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if (entry / "comm").read_text().strip() in PROGRAMS:
                    pids.append(int(entry.name))
    return pids


def _ask_owner(pids: Collection[int], folder: Path, account: Account) -> list[int]:
    answer = account.run(["sh", "-c", _LOOK, "sh", *map(str, pids)], env=ENV, cwd=Path("/"))
    rows = [line.partition(" ") for line in answer.stdout.splitlines()]
    return [int(pid) for pid, _, cwd in rows if _is_below(cwd, folder)]


def _is_below(cwd: str, folder: Path) -> bool:
    path = cwd.removesuffix(" (deleted)")
    return path == str(folder) or path.startswith(f"{folder}/")


def freeze(folder: Path, account: Account) -> None:
    """SIGSTOP every process of a server; the parent first, so that it starts no more of them."""
    deadline = time.monotonic() + 10
    while awake := [process for process in members(folder, account) if not process.is_stopped]:
        _signal(awake, signal.SIGSTOP)
        if time.monotonic() > deadline:
            raise TimeoutError(f"{folder.name}: {len(awake)} processes do not stop")
        time.sleep(0.02)


def resume(folder: Path, account: Account) -> None:
    _signal(members(folder, account), signal.SIGCONT)


def kill(folder: Path, account: Account) -> None:
    """SIGKILL every process of a server and wait until they are gone."""
    deadline = time.monotonic() + GONE_WITHIN_S
    while left := members(folder, account):
        _signal(left, signal.SIGKILL)
        if time.monotonic() > deadline:
            raise TimeoutError(f"{folder.name}: {len(left)} processes survive SIGKILL")
        time.sleep(0.02)


def shut_down(folder: Path, account: Account, *, patience_s: float) -> None:
    """The fast, clean end: INT to the parent. TERM would wait for the clients. What is left is killed."""
    left = members(folder, account)
    _signal(left, signal.SIGCONT)
    _signal(left[:1], signal.SIGINT)
    deadline = time.monotonic() + patience_s
    while members(folder, account) and time.monotonic() < deadline:
        time.sleep(0.03)
    kill(folder, account)


def _signal(processes: Collection[Process], number: signal.Signals) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, number)
