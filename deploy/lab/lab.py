"""The lab: a real PostgreSQL primary, two streaming standbys and some Pgpool-II instances on loopback."""

import contextlib
import fcntl
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from deploy.lab import account as places
from deploy.lab import ledger, plan, processes, shared_memory
from deploy.lab.backends import BackendFailed, Backends
from deploy.lab.binaries import find_binaries
from deploy.lab.ledger import Claim, Entry
from deploy.lab.pgpools import PgpoolFailed, Pgpools
from deploy.lab.plan import Backend, Pgpool, Plan, ServerStatus
from deploy.lab.shared_memory import Holdings

TRIES = 3


class LabIsDown(RuntimeError):
    """There is no lab here: bring it up first."""


class Lab:
    """A cluster under `root`. What it consists of stands in `root/lab.json`; its state survives `down`."""

    def __init__(
        self, root: Path, pgpool_count: int = 3, num_init_children: int = 64, *, has_watchdog: bool = False
    ) -> None:
        """has_watchdog: the pgpools watch each other, and promote a standby when the primary is lost."""
        self.root = root.absolute()
        self.has_watchdog = has_watchdog
        self.pgpool_count = pgpool_count
        self.num_init_children = num_init_children
        self.binaries = find_binaries()
        self.account = places.server_account()
        self._owner: processes.Process | None = None

    @property
    def addresses(self) -> dict[str, Any]:
        """The content of lab.json."""
        content = plan.read(self.root / "lab.json")
        if content is None:
            raise LabIsDown(f"no lab under {self.root}: bring it up first")
        return content

    @property
    def plan(self) -> Plan:
        return plan.from_json(self.addresses)

    @property
    def backends(self) -> Backends:
        return self._backends(self.plan)

    @property
    def pgpools(self) -> Pgpools:
        return self._pgpools(self.plan)

    def status(self) -> list[ServerStatus]:
        return [self._status(server) for server in self.plan.servers]

    def up(self) -> None:
        """Bring everything up, or back up; a port that somebody took meanwhile is replaced."""
        self.root.mkdir(parents=True, exist_ok=True)
        with self._locked():
            self._end_leftovers()
            ledger.write_claim(self._private(), Claim(self.root, self._owner))
            for attempt in range(1, TRIES + 1):
                try:
                    self._start_all(self._draw_up())
                except (BackendFailed, PgpoolFailed) as error:
                    if attempt == TRIES or "already in use" not in str(error):
                        raise
                else:
                    return

    def belongs_to(self, pid: int) -> None:
        """Once this process is gone, the lab is a leftover that the next `up` of any lab on this machine ends."""
        self._owner = processes.look_up(pid)
        if (self.root / "lab.json").exists():
            ledger.write_claim(self._private(), Claim(self.root, self._owner))

    def down(self) -> None:
        """Stop everything; no process, socket or shared memory stays."""
        if plan.read(self.root / "lab.json") is None:
            return
        with self._locked():
            drawn = self.plan
            with ThreadPoolExecutor(max_workers=8) as pool:
                list(pool.map(self._shut_down, drawn.pgpools))
                list(pool.map(self._shut_down, drawn.backends))
            self._end_leftovers()
            private = self._private()
            shutil.rmtree(private / "s", ignore_errors=True)
            ledger.remove_notes(private)

    def forget(self) -> None:
        """Down, and remove its files."""
        self.down()
        places.forget(self.root)
        for name in ("lab.json", "lab.lock"):
            (self.root / name).unlink(missing_ok=True)

    def repair(self) -> None:
        """Undo every fault: all servers run, no replay is paused, every pgpool shows every backend up."""
        with self._locked():
            self._start_all(self.plan)

    def stop(self, name: str) -> None:
        """The clean end that an administrator gives."""
        with self._locked():
            self._shut_down(self.plan.server(name))

    def kill(self, name: str) -> None:
        """SIGKILL for all processes of a server, as when its host dies."""
        with self._locked():
            server = self.plan.server(name)
            held = self._held(server)
            processes.kill(self._folder(server), self.account)
            shared_memory.release(held, self.account)

    def freeze(self, name: str) -> None:
        """SIGSTOP for all processes of a server: its port still accepts, nobody answers."""
        with self._locked():
            processes.freeze(self._folder(self.plan.server(name)), self.account)

    def resume(self, name: str) -> None:
        """Undo `freeze`; the pgpools get a backend back that they gave up meanwhile."""
        with self._locked():
            server = self.plan.server(name)
            processes.resume(self._folder(server), self.account)
            if isinstance(server, Backend):
                self.backends.start(server)  # it may have to follow another primary by now
            self._await(server)

    def start(self, name: str) -> None:
        """Start a stopped or killed server and wait until the pgpools use it."""
        with self._locked():
            server = self.plan.server(name)
            processes.resume(self._folder(server), self.account)
            if isinstance(server, Backend):
                self.backends.start(server)
            else:
                self._start_pgpools([server], self.plan)
            self._record(self.plan)
            self._await(server)

    def restart(self, conf: Path) -> None:
        """As a supervisor does: the clean end of the pgpool with this file, which cuts its clients, and a new start."""
        wanted = conf.resolve()
        named = [pgpool.name for pgpool in self.plan.pgpools if Path(pgpool.conf).resolve() == wanted]
        if not named:
            raise plan.UnknownServer(f"no pgpool of this lab has the file {conf}")
        self.stop(named[0])
        self.start(named[0])

    def pause_replay(self, name: str) -> None:
        """The standby goes on receiving WAL and stops applying it: its lag grows with the writes."""
        self._ask(name, "SELECT pg_wal_replay_pause()")

    def resume_replay(self, name: str) -> None:
        self._ask(name, "SELECT pg_wal_replay_resume()")

    def _ask(self, name: str, query: str) -> None:
        server = self.plan.server(name)
        if not isinstance(server, Backend) or server == self.backends.primary:
            raise plan.UnknownServer(f"{name!r} is no standby")
        with self.backends.connect(server) as connection:
            connection.execute(query)  # type: ignore[arg-type,unused-ignore]

    def _draw_up(self) -> Plan:
        earlier = plan.read(self.root / "lab.json")
        private = self._private()
        data = places.data_folder(self.root, self.account, private)
        self.account.folder(private / "s")
        ours = set()
        if earlier is None:
            for leftover in data.iterdir():
                shutil.rmtree(leftover, ignore_errors=True)
        else:
            servers = (*earlier["backends"], *earlier["pgpools"])
            running = [server for server in servers if processes.members(data / server["name"], self.account)]
            ours = {server[key] for server in running for key in ("port", "pcp_port") if key in server}
        drawn = plan.draw_up(
            earlier=earlier,
            data=data,
            pgpool_count=self.pgpool_count,
            num_init_children=self.num_init_children,
            ours=ours,
            has_watchdog=self.has_watchdog,
        )
        self._save(plan.as_json(drawn, data))
        return drawn

    def _save(self, content: dict[str, Any]) -> None:
        draft = self.root / ".lab.json.draft"
        draft.touch(mode=0o600)
        draft.write_text(json.dumps(content, indent=1), encoding="utf-8")
        draft.replace(self.root / "lab.json")

    def _start_all(self, drawn: Plan) -> None:
        for server in drawn.servers:
            processes.resume(self._folder(server), self.account)
        backends = self._backends(drawn)
        backends.bring_up()
        for standby in backends.standbys:
            self.resume_replay(standby.name)
        self._start_pgpools(drawn.pgpools, drawn)
        self._record(drawn)

    def _start_pgpools(self, wanted: Sequence[Pgpool], drawn: Plan) -> None:
        pgpools = self._pgpools(drawn)
        self.account.file(pgpools.pcppass, f"*:*:lifeguard:{drawn.passwords['pcp']}\n")
        before = shared_memory.semaphore_ids()
        node_ids = self._running_node_ids(drawn)
        fresh = [pgpool for pgpool in wanted if not pgpools.pids(pgpool)]
        for pgpool in fresh:
            pgpools.prepare(pgpool)
            pgpools.launch(pgpool)
        with ThreadPoolExecutor(max_workers=8) as pool:
            list(pool.map(lambda pgpool: pgpools.await_up(pgpool, node_ids), wanted))
        held = {pgpool.name: pgpools.holdings(pgpool, before) for pgpool in fresh}
        self._record(drawn, held)

    def _await(self, server: Backend | Pgpool) -> None:
        """Until the running pgpools use it; what is stopped or frozen is waited for by nobody."""
        drawn, pgpools = self.plan, self.pgpools
        if isinstance(server, Pgpool):
            pgpools.await_up(server, self._running_node_ids(drawn))
            return
        for pgpool in drawn.pgpools:
            if self._state(pgpool) == "running":
                pgpools.await_up(pgpool, [server.node_id])

    def _running_node_ids(self, drawn: Plan) -> list[int]:
        return [backend.node_id for backend in drawn.backends if self._state(backend) == "running"]

    def _shut_down(self, server: Backend | Pgpool) -> None:
        held = self._held(server)
        processes.shut_down(self._folder(server), self.account, patience_s=8)
        shared_memory.release(held, self.account)

    def _record(self, drawn: Plan, held: Mapping[str, Holdings] | None = None) -> None:
        """Note what runs now; `held` replaces what was noted of what these servers hold."""
        entries = ledger.read(self._private())
        for server in drawn.servers:
            folder = self._folder(server)
            for parent in processes.members(folder, self.account)[:1]:
                known = entries[server.name].holdings if server.name in entries else Holdings({}, frozenset())
                if isinstance(server, Backend):
                    known = Holdings(shared_memory.segments_of([parent.pid]), frozenset())
                holdings = (held or {}).get(server.name, known)
                entries[server.name] = Entry(folder=folder, pid=parent.pid, started=parent.started, holdings=holdings)
        ledger.write(self._private(), entries)

    def _held(self, server: Backend | Pgpool) -> Holdings:
        return ledger.holdings(self._private(), server.name, self._folder(server), self.account)

    def _end_leftovers(self) -> None:
        """Servers whose parent died serve on with old settings or hold memory: end them, here and of killed labs."""
        ledger.bury_dead(self._private(), self.account)
        ledger.sweep(self.account, own=self._private())

    def _status(self, server: Backend | Pgpool) -> ServerStatus:
        count = len(processes.members(self._folder(server), self.account))
        return ServerStatus(server.name, server.host, server.port, server.az, self._state(server), count)

    def _state(self, server: Backend | Pgpool) -> str:
        found = processes.members(self._folder(server), self.account)
        if not found:
            return "stopped"
        return "frozen" if any(process.is_stopped for process in found) else "running"

    def _folder(self, server: Backend | Pgpool) -> Path:
        return Path(self.addresses["data"]) / server.name

    def _private(self) -> Path:
        return places.private_folder(self.root)

    def _backends(self, drawn: Plan) -> Backends:
        return Backends(drawn, Path(self.addresses["data"]), self.binaries, self.account)

    def _pgpools(self, drawn: Plan) -> Pgpools:
        private, data = self._private(), Path(self.addresses["data"])
        return Pgpools(drawn, data, private / "s", data / "pcppass", self.binaries, self.account)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """One change at a time, over all processes."""
        with (self.root / "lab.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
