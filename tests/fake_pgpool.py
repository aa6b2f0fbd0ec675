"""A pgpool that can refuse, hang, lie, half-apply and forget: PostgreSQL protocol 3, SHOW answers, and PCP.

It reads its weights from a pgpool.conf when that is reloaded (by PCP, as a real one, or by reload()), so a story that
writes the file, reloads and reads back runs whole against it.
"""

import asyncio
import re
import struct
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, Self

from tests import fake_show
from tests.fake_protocol import READY, Row, error, md5, message, read_message, table
from tests.fake_show import FakeBackend, FakeClient, three_backends

Mode = Literal[
    "ok",
    "refuse",  # closes every SQL session at once, as a pgpool that has just gone down
    "hang",  # takes connections and never answers, as a frozen one: SQL and PCP
    "hang_sql",  # the same for SQL only; PCP answers
    "all_down",  # turns everybody away: all backends are down; tells it to nobody who asks for TLS
    "wrong_password",  # refuses the password that it is given
    "forget",  # says that it reloads, and does not
    "half_apply",  # takes node 0's weight only
    "mixed",  # every second session shows the values from before the latest reload
    "deaf",  # takes an attach or detach by PCP, says that it succeeded, and does nothing
    "lie",  # PGPOOL SHOW shows the new weights, SHOW POOL_NODES keeps the old ones
]
Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class FakePgpool:
    """Run it with `with FakePgpool().running() as pgpool:` (own thread) or `async with`."""

    def __init__(
        self,
        *,
        conf: Path | None = None,
        backends: Sequence[FakeBackend] | None = None,
        username: str = "lifeguard",
        password: str = "secret",
        pcp_username: str = "pcp",
        pcp_password: str = "secret",
        version: str = "4.3.5 (tamahomeboshi)",
    ) -> None:
        self.conf = conf
        self.backends = list(backends) if backends is not None else three_backends()
        self.username = username
        self.password = password
        self.pcp_username = pcp_username
        self.pcp_password = pcp_password
        self.version = version
        self.mode: Mode = "ok"
        self.has_monitor = True
        self.values: dict[str, str] = {
            "num_init_children": "32",
            "delay_threshold": "0",
            "statement_level_load_balance": "off",
            "load_balance_mode": "on",
            **{f"backend_weight{backend.node_id}": "1" for backend in self.backends},
        }
        self.shown_before = dict(self.values)
        self.kept_on_reload: set[str] = set()  # rejected values, and what only a restart brings in
        self.unknown: set[str] = set()
        self.cache_hits = 0
        self.cache_misses = 0
        self.sessions_ended = 0
        self.clients: list[FakeClient] = []
        self.received: list[str] = []
        self.watchdog: bytes | None = None
        self.reload_count = 0
        self.restart_count = 0
        self.host = "127.0.0.1"
        self.port = 0
        self.pcp_port = 0
        self.open_sessions = 0
        self.most_open_sessions = 0
        self._session_number = 0
        self._servers: list[asyncio.Server] = []
        self._writers: set[asyncio.StreamWriter] = set()
        self._gone = asyncio.Event()
        if conf is not None and conf.exists():
            self.values.update(_settings(conf.read_text()))
            self.shown_before = dict(self.values)

    async def __aenter__(self) -> Self:
        self._gone = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        for port, talk in ((self.port, self._sql_session), (self.pcp_port, self._pcp_session)):
            self._servers.append(await asyncio.start_server(self._guarded(talk), self.host, port))
        self.port, self.pcp_port = (server.sockets[0].getsockname()[1] for server in self._servers)
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._gone.set()
        for server in self._servers:
            server.close()
        for writer in list(self._writers):
            writer.transport.abort()
        self._servers.clear()
        await asyncio.sleep(0)

    @contextmanager
    def running(self) -> Iterator["FakePgpool"]:
        """Serve from a thread with a loop of its own, for tests that are not async."""
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever, daemon=True)
        thread.start()
        try:
            asyncio.run_coroutine_threadsafe(self.__aenter__(), loop).result(timeout=30)
            yield self
        finally:
            asyncio.run_coroutine_threadsafe(self._leave(), loop).result(timeout=30)
            loop.call_soon_threadsafe(loop.stop)
            thread.join(timeout=30)
            loop.close()

    async def _leave(self) -> None:
        await self.__aexit__()
        mine = asyncio.current_task()
        others = [task for task in asyncio.all_tasks() if task is not mine]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    def _guarded(self, talk: Talk) -> Talk:
        async def session(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self._writers.add(writer)
            # The client may go away at any time, as clients do.
            with suppress(EOFError, OSError):
                await talk(reader, writer)
            self._writers.discard(writer)
            writer.close()

        return session

    @property
    def weights(self) -> dict[int, float]:
        """Raw backend_weightN in force, by node_id."""
        return {backend.node_id: float(self.values[f"backend_weight{backend.node_id}"]) for backend in self.backends}

    @weights.setter
    def weights(self, weights: Mapping[int, float]) -> None:
        self.values.update({f"backend_weight{node_id}": f"{weight:g}" for node_id, weight in weights.items()})
        self.shown_before = dict(self.values)

    def reload(self) -> None:
        """Read pgpool.conf again, as far as the mode lets it."""
        self.reload_count += 1
        if self.conf is None or self.mode == "forget":
            return
        found = _settings(self.conf.read_text())
        if self.mode == "half_apply":
            found = {name: value for name, value in found.items() if name == "backend_weight0"}
        self.shown_before = dict(self.values)
        passed_over = self.kept_on_reload | self.unknown
        self.values.update({name: value for name, value in found.items() if name not in passed_over})

    def restart(self) -> None:
        """Read all of pgpool.conf, as after a restart; every session ends, and other children serve."""
        self.restart_count += 1
        if self.conf is not None:
            found = _settings(self.conf.read_text())
            self.values.update({name: value for name, value in found.items() if name not in self.unknown})
            self.shown_before = dict(self.values)
        self.close_sessions()

    @property
    def restart_flag(self) -> Path | None:
        """A file that somebody makes to let it restart, once it is connected to again."""
        return None if self.conf is None else self.conf.with_name(f"{self.conf.name}.restart")

    def close_sessions(self) -> None:
        """Close every open session, as pgpool does when a backend fails over."""
        for writer in list(self._writers):
            self._loop.call_soon_threadsafe(writer.transport.abort)

    async def _sql_session(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.restart_flag is not None and self.restart_flag.exists():
            self.restart_flag.unlink()
            self.restart()
        if self.mode == "refuse":
            return
        await self._wait_while_hanging("hang", "hang_sql")
        if not await self._start(reader, writer):
            return
        self.open_sessions += 1
        self.most_open_sessions = max(self.most_open_sessions, self.open_sessions)
        self._session_number += 1
        is_stale = self._session_number % 2 == 0
        try:
            await self._answer_queries(reader, writer, is_stale=is_stale)
        finally:
            self.open_sessions -= 1
            self.sessions_ended += 1

    async def _start(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        while True:
            (length,) = struct.unpack("!i", await reader.readexactly(4))
            payload = await reader.readexactly(length - 4)
            (code,) = struct.unpack("!i", payload[:4])
            if self.mode == "all_down":
                if code == 196608:  # protocol 3.0, without TLS
                    text = "pgpool is not accepting any new connections"
                    writer.write(error(text, "", "all backend nodes are down, pgpool requires at least one valid node"))
                return False
            if code in (80877103, 80877104):  # SSL, GSS encryption: not offered
                writer.write(b"N")
                continue
            break
        parameters = payload[4:].split(b"\0")
        startup = dict(zip(parameters[::2], parameters[1::2], strict=False))
        salt = b"salt"
        writer.write(message(b"R", struct.pack("!i", 5) + salt))
        _, password = await read_message(reader)
        proof = b"md5" + md5(md5(self.password.encode() + startup.get(b"user", b"")) + salt)
        if startup.get(b"user", b"").decode() != self.username:
            writer.write(error("SCRAM authentication failed", "28000", "pool_passwd file does not contain an entry"))
            return False
        if self.mode == "wrong_password" or password.rstrip(b"\0") != proof:
            writer.write(error(f'password authentication failed for user "{self.username}"', "28P01"))
            return False
        writer.write(message(b"R", struct.pack("!i", 0)))
        for name, value in (("server_version", "15.18"), ("client_encoding", "UTF8"), ("DateStyle", "ISO, MDY")):
            writer.write(message(b"S", f"{name}\0{value}\0".encode()))
        writer.write(message(b"K", struct.pack("!ii", 1, 1)) + READY)
        return True

    async def _answer_queries(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, is_stale: bool
    ) -> None:
        while True:
            kind, payload = await read_message(reader)
            if kind == b"X":
                return
            if self.mode == "refuse":
                return
            await self._wait_while_hanging("hang", "hang_sql")
            if kind == b"Q":
                sql = payload.rstrip(b"\0").decode()
                self.received.append(sql)
                writer.write(self._answer(sql, is_stale=is_stale) + READY)
            elif kind == b"S":
                # pgpool answers its own SHOW commands in the simple protocol only; PostgreSQL does not know them.
                writer.write(error('unrecognized configuration parameter "pool_nodes"', "42704") + READY)
            await writer.drain()

    def _answer(self, sql: str, *, is_stale: bool) -> bytes:
        asked = " ".join(sql.strip().rstrip(";").lower().split())
        values = self.shown_before if self.mode == "mixed" and is_stale else self.values
        nodes = self.shown_before if self.mode == "lie" else values
        if asked == "show pool_nodes":
            return table(fake_show.POOL_NODES, fake_show.pool_nodes(self.backends, nodes))
        if asked == "show pool_backend_stats":
            return table(fake_show.BACKEND_STATS, fake_show.backend_stats(self.backends))
        if asked in self._plain:
            return self._plain[asked]()
        if asked in ("pgpool show all", "pgpool show backend"):
            group = "" if asked.endswith("all") else "backend_"
            items = [[name, value, ""] for name, value in values.items() if name.startswith(group)]
            return table(["item", "value", "description"], items)
        if match := re.fullmatch(r"pgpool show (\w+)", asked):
            family = [name for name in values if re.fullmatch(rf"{match[1]}\d+", name)]
            if family:  # health_check_period is shown along with that of every backend
                own = [name for name in [match[1]] if name in values]
                return table(["item", "value", "description"], [[name, values[name], ""] for name in own + family])
            if match[1] in values:
                return table([match[1]], [[values[match[1]]]])
        if asked.startswith("select"):
            return table(["answer"], [["ft"[self.has_monitor] if "pg_has_role" in asked else "1"]])
        name = asked.removeprefix("pgpool ").removeprefix("show ")
        return error(f'unrecognized configuration parameter "{name}"', "42704")

    @property
    def _plain(self) -> Mapping[str, Callable[[], bytes]]:
        """Statements that no mode falsifies."""
        return {
            "show pool_cache": lambda: table(
                fake_show.POOL_CACHE, [fake_show.pool_cache(self.cache_hits, self.cache_misses)]
            ),
            "show pool_processes": lambda: table(
                fake_show.POOL_PROCESSES, self._pool_processes(), is_header_twice=True
            ),
            "show pool_pools": lambda: table(fake_show.POOL_POOLS, fake_show.pool_pools(self.backends, self.clients)),
            "show pool_status": lambda: table(["item", "value", "description"], self._pool_status()),
            "show pool_version": lambda: table(["pool_version"], [[self.version]], is_header_twice=True),
            "show server_version": lambda: table(["server_version"], [["15.18"]]),
        }

    def _pool_processes(self) -> list[Row]:
        return fake_show.pool_processes(
            children=int(self.values["num_init_children"]),
            busy=self.open_sessions,
            sessions_ended=self.sessions_ended,
            username=self.username,
            restarts=self.restart_count,
        )

    def _pool_status(self) -> list[Row]:
        began = f"Fri Nov 20 17:10:{self.restart_count:02} 2026\n"
        return [*([name, value, ""] for name, value in self.values.items()), ["memqcache_stats_start_time", began, ""]]

    async def _wait_while_hanging(self, *modes: Mode) -> None:
        while self.mode in modes and not self._gone.is_set():  # noqa: ASYNC110
            await asyncio.sleep(0.02)

    async def _pcp_session(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        salt = b"salt"
        is_signed_in = False
        while True:
            kind, payload = await read_message(reader)
            await self._wait_while_hanging("hang")
            if kind == b"M":
                writer.write(message(b"m", salt))
            elif kind == b"R":
                is_signed_in = payload == self._pcp_proof(salt)
                writer.write(message(b"r", b"AuthenticationOK\0") if is_signed_in else error("authentication failed"))
            elif kind == b"X" or not is_signed_in:
                return
            elif kind == b"Z":
                self.reload()
                writer.write(message(b"z", b"CommandComplete\0"))
            else:
                writer.write(self._pcp_answer(kind, payload))
            await writer.drain()

    def _pcp_answer(self, kind: bytes, payload: bytes) -> bytes:
        if kind == b"L":
            return message(b"l", f"CommandComplete\0{len(self.backends)}\0".encode())
        if kind == b"N":
            count = int(self.values["num_init_children"])
            pids = "".join(f"{1000 + number}\0" for number in range(count))
            return message(b"n", f"CommandComplete\0{count}\0{pids}".encode())
        if kind == b"I":
            return self._pcp_node(int(payload.rstrip(b"\0")))
        if kind in (b"C", b"D"):
            return self._brought(int(payload.rstrip(b"\0")), is_attach=kind == b"C")
        return self._watchdog_told() if kind == b"W" else b""

    def _pcp_proof(self, salt: bytes) -> bytes:
        user = self.pcp_username.encode()
        proof = md5(md5(md5(self.pcp_password.encode()) + user) + salt)
        return user + b"\0" + proof + b"\0"

    def _watchdog_told(self) -> bytes:
        """watchdog: the payload of a captured answer; none runs without."""
        if self.watchdog is None:
            return error("PCP: informing watchdog info failed", detail="watchdog is not enabled")
        return message(b"w", self.watchdog)

    def _brought(self, node_id: int, *, is_attach: bool) -> bytes:
        """Attach takes any number without a word; detach refuses what is not up, as a real one does."""
        node = next((each for each in self.backends if each.node_id == node_id), None)
        self.received.append(f"pcp {'attach' if is_attach else 'detach'} {node_id}")
        if not is_attach and (node is None or node.status not in ("up", "waiting")):
            status = 0 if node is None else 3
            return error(f"invalid degenerate backend request, node id : {node_id} status: [{status}] is not valid")
        if node is not None and self.mode != "deaf":
            node.status = "up" if is_attach else "down"
        return message(b"c" if is_attach else b"d", b"CommandComplete\0")

    def _pcp_node(self, node_id: int) -> bytes:
        backend = self.backends[node_id]
        share = self.weights[node_id] / (sum(self.weights.values()) or 1)
        number = {"primary": "2", "standby": "3"}[backend.role]
        status = {"up": "2", "down": "3", "waiting": "1", "unused": "0"}[backend.status]
        fields = ["NodeInfo", backend.hostname, str(backend.port), status, "0", backend.pg_status]
        fields += [f"{share * 2147483647:.6f}", number, backend.role, "0", "", "", "1795194600"]
        described = "".join(f"{field}\0" for field in fields).encode()
        return b"".join(message(b"i", payload) for payload in (b"ArraySize\x001\x00", described, b"CommandComplete\0"))


def _settings(text: str) -> dict[str, str]:
    """Enough of pgpool.conf for a fake: name = value, the last one wins."""
    found = re.findall(r"^\s*(\w+)\s*=\s*'?([^'#\n]*?)'?\s*(?:#.*)?$", text, flags=re.MULTILINE)
    return {name: value.strip() for name, value in found}
