"""Scratch pgpools and a scratch memcached: started on loopback, ended with the program that started them.

A pgpool that is killed leaves its shared memory behind. So each has a session of its own, where what kills the program
does not reach it, and the kernel interrupts it when the program dies: it then ends by itself, tidily.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import psycopg
from psycopg.rows import dict_row

from apps.benchmarks.domain import scratch_conf
from apps.benchmarks.domain.scratch_conf import LOOPBACK, MEMCACHED, Account, Scratch
from apps.clusters.domain.show_rows import PoolCache, parse_pool_cache

STARTS_WITHIN_S = 15.0
ENDS_WITHIN_S = 5.0
_ASKED_WITHIN_S = 5
_TAIL = 600
# What a SELECT calls is to read only, too.
READ_ONLY = "-c default_transaction_read_only=on"
# Sockets stand there: their path may be 107 characters long. The name goes on with the program that made the folder.
_PLACE = Path("/tmp")  # noqa: S108  # what is made there has a random name, and is for its owner alone
_PREFIX = "lg-cache-"
# Of a memcached that only a calibration fills, in MiB.
_MEMCACHED_MIB = 64


class ScratchFailed(RuntimeError):
    """A scratch program did not start, or does not answer. The text says which, and what it printed."""


class ScratchPgpool:
    def __init__(self, scratch: Scratch, account: Account) -> None:
        self.scratch = scratch
        self._account = account

    @property
    def name(self) -> str:
        return f"the scratch pgpool with {self.scratch.storage}"

    def start(self, program: str, text: str, *, clients: int) -> subprocess.Popen[bytes]:
        folder = Path(self.scratch.folder)
        (folder / "oid").mkdir()
        conf, pcp, hba = folder / "pgpool.conf", folder / "pcp.conf", folder / "pool_hba.conf"
        made = scratch_conf.scratch_text(text, self.scratch, clients=clients, account=self._account)
        for path, content in ((conf, made), (pcp, ""), (hba, "")):
            path.touch(mode=0o600)
            path.write_text(content, encoding="utf-8")
        words = [program, "-n", "-D", "-f", str(conf), "-F", str(pcp), "-a", str(hba)]
        return _started(words, folder=folder)

    def await_up(self, process: subprocess.Popen[bytes]) -> None:
        until = time.monotonic() + STARTS_WITHIN_S
        while True:
            try:
                self.show_cache()
            except psycopg.Error as error:
                said = " ".join(str(error).split())
            else:
                return
            if process.poll() is not None or time.monotonic() > until:
                raise ScratchFailed(f"{self.name} did not let a session in: {said} {_log(self.scratch.folder)}".strip())
            time.sleep(0.1)

    def show_cache(self) -> PoolCache:
        with self.session() as session:
            rows = session.cursor(row_factory=dict_row).execute("SHOW pool_cache").fetchall()
        return parse_pool_cache([{name: str(value) for name, value in row.items()} for row in rows])

    @contextlib.contextmanager
    def session(self) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
        with psycopg.connect(
            host=LOOPBACK, port=self.scratch.port, user=self._account.username, password=self._account.password,
            dbname=self._account.database, sslmode="disable", connect_timeout=_ASKED_WITHIN_S, autocommit=True,
            prepare_threshold=None, application_name="lifeguard-benchmark", options=READ_ONLY,
        ) as session:  # fmt: skip
            # pgpool knows its own SHOW only in a simple query.
            yield session


def sweep(place: Path) -> None:
    """Remove what programs left that were killed: a configuration among it has passwords."""
    for left in place.glob(f"{_PREFIX}*"):
        number = left.name.removeprefix(_PREFIX).split("-")[0]
        if number.isdecimal() and not Path(f"/proc/{number}").exists() and left.lstat().st_uid == os.geteuid():
            shutil.rmtree(left, ignore_errors=True)


@contextlib.contextmanager
def scratches(
    storages: Sequence[str], *, text: str, clients: int, account: Account, pgpool: str, memcached: str
) -> Iterator[dict[str, ScratchPgpool]]:
    """storage -> its pgpool, all up; every one ended and its files gone afterwards. Raises ScratchFailed.

    text: the configuration of the real one. memcached: its program; "" where none is asked for.
    """
    sweep(_PLACE)
    made = tempfile.TemporaryDirectory(prefix=f"{_PREFIX}{os.getpid()}-", dir=_PLACE)
    with made as folder, contextlib.ExitStack() as running:
        memcached_port = None
        if MEMCACHED in storages:
            [memcached_port] = free_ports(1)
            running.enter_context(_ending(start_memcached(memcached, memcached_port, Path(folder)), signal.SIGTERM))
        found, processes = {}, []
        for storage, (port, pcp_port) in zip(storages, _pairs(free_ports(2 * len(storages))), strict=True):
            own = Path(folder) / storage
            own.mkdir()
            port_of_cache = memcached_port if storage == MEMCACHED else None
            one = ScratchPgpool(Scratch(storage, port, pcp_port, str(own), port_of_cache), account)
            processes.append(one.start(pgpool, text, clients=clients))
            running.enter_context(_ending(processes[-1], signal.SIGINT))
            found[storage] = one
        for one, process in zip(found.values(), processes, strict=True):
            one.await_up(process)
        yield found


def start_memcached(program: str, port: int, folder: Path) -> subprocess.Popen[bytes]:
    """On loopback alone. Raises ScratchFailed where it does not listen in time."""
    words = [program, "-l", LOOPBACK, "-p", str(port), "-U", "0", "-m", str(_MEMCACHED_MIB)]
    # It refuses to be root; nobody owns nothing.
    words += ["-u", "nobody"] if os.geteuid() == 0 else []
    process = _started(words, folder=folder, death=signal.SIGTERM)
    until = time.monotonic() + STARTS_WITHIN_S
    while process.poll() is None and time.monotonic() < until:
        with contextlib.suppress(OSError), socket.create_connection((LOOPBACK, port), timeout=1):
            return process
        time.sleep(0.05)
    process.kill()
    raise ScratchFailed(f"the scratch memcached did not start: {_log(str(folder))}")


def free_ports(count: int) -> list[int]:
    """Of loopback; nobody holds them from now on, so somebody else may take one."""
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind((LOOPBACK, 0))
        return [one.getsockname()[1] for one in sockets]


def _pairs(ports: Sequence[int]) -> list[tuple[int, int]]:
    return list(zip(ports[::2], ports[1::2], strict=True))


def _started(words: Sequence[str], *, folder: Path, death: signal.Signals = signal.SIGINT) -> subprocess.Popen[bytes]:
    program = shutil.which("setpriv")
    ending = [program, "--pdeathsig", death.name.removeprefix("SIG"), "--"] if program else []
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(
            [*ending, *words], cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C.UTF-8"},
        )  # fmt: skip


@contextlib.contextmanager
def _ending(process: subprocess.Popen[bytes], number: signal.Signals) -> Iterator[None]:
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(number)
        try:
            process.wait(timeout=ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            process.kill()


def _log(folder: str) -> str:
    """The end of what it printed, which tells why it did not start."""
    try:
        said = (Path(folder) / "log").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return f"It printed: {said[-_TAIL:].strip()}" if said.strip() else ""
