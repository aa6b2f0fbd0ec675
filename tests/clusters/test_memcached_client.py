"""Every state of a memcached: of a fake in all its moods, and of a real one that is stopped and killed."""

import asyncio
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator

import pytest

from apps.clusters.domain.memcached import MemcachedState, MemcachedTold, Place
from apps.clusters.outside import memcached, sockets
from tests.fake_memcached import FakeMemcached, Mode

HERE = "127.0.0.1"
# Not this machine, as far as a program can tell: nobody is asked there.
ELSEWHERE = "192.0.2.1"


async def told_by(mode: Mode) -> MemcachedTold:
    async with FakeMemcached() as fake:
        fake.mode = mode
        return await memcached.ask(Place("localhost", fake.port), pgpool_host=HERE)


async def test_one_that_answers_tells_its_figures() -> None:
    told = await told_by("ok")

    assert (told.state, told.reason) == (MemcachedState.ALIVE, "")
    assert told.stats is not None
    assert (told.stats.items, told.stats.limit_bytes) == (20, 2_097_152)


@pytest.mark.parametrize("mode", ["frozen", "half"])
async def test_one_that_takes_connections_and_does_not_answer_is_frozen(
    mode: Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memcached, "ANSWER_S", 0.2)

    told = await told_by(mode)

    assert told.state == MemcachedState.FROZEN
    assert "takes connections, and gave no answer within 0.2 s" in told.reason
    assert told.stats is None


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("nonsense", "is no memcached. Check memqcache_memcached_host and memqcache_memcached_port"),
        ("endless", "is no memcached"),
        ("close", "closed the connection instead of an answer"),
        ("full", "has no free connection"),
    ],
)
async def test_any_other_answer_has_a_reason_of_its_own(mode: Mode, words: str) -> None:
    told = await told_by(mode)

    assert told.state == MemcachedState.UNREACHABLE
    assert words in told.reason
    assert "Bad Request" not in told.reason  # what strangers say is repeated to nobody


async def test_one_that_is_gone_refuses_connections() -> None:
    told = await memcached.ask(Place(HERE, closed_port()), pgpool_host="localhost")

    assert told.state == MemcachedState.GONE
    assert "connection refused" in told.reason


def closed_port() -> int:
    with socket.socket() as free:
        free.bind((HERE, 0))
        port: int = free.getsockname()[1]
        return port


async def test_a_refusal_at_the_machine_of_a_pgpool_elsewhere_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """memcached listens for its own machine alone, as Debian sets it up: only pgpool reaches it."""

    async def refused(host: str, port: int, *, deadline_s: float) -> None:
        raise sockets.Refused("tcp", f"{host}:{port} cannot be reached: connection refused")

    monkeypatch.setattr(memcached, "open_tcp", refused)

    told = await memcached.ask(Place("localhost", 11211), pgpool_host=ELSEWHERE)

    assert told.state == MemcachedState.UNREACHABLE
    assert told.reason == (
        "pgpool reaches it at localhost:11211 of its own machine, and 192.0.2.1:11211 refuses Lifeguard: it may listen "
        "for its own machine alone"
    )


async def test_a_connection_that_times_out_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(host: str, port: int, *, deadline_s: float) -> None:
        raise sockets.NotAccepted("tcp", f"{host}:{port} did not accept a connection within 2 s", "Check the firewall.")

    monkeypatch.setattr(memcached, "open_tcp", never)

    told = await memcached.ask(Place(ELSEWHERE, 11211), pgpool_host=ELSEWHERE)

    assert (told.state, told.is_connect_timeout) == (MemcachedState.UNREACHABLE, True)
    assert told.reason.endswith("Check the firewall, and that memcached is not stopped")


@pytest.mark.parametrize(
    ("place", "words"),
    [
        (Place("no-such-name.invalid", 11211), "'no-such-name.invalid' does not resolve"),
        (Place("169.254.169.254", 80), "which is never contacted"),
        (Place("/run/memcached.sock", 11211), "a socket of pgpool's own machine"),
        (Place("localhost", None), "its port is not readable"),
    ],
)
async def test_what_cannot_be_asked_is_unreachable_with_its_reason(place: Place, words: str) -> None:
    told = await memcached.ask(place, pgpool_host=HERE)

    assert told.state == MemcachedState.UNREACHABLE
    assert words in told.reason


async def test_a_name_that_means_this_machine_here_is_not_asked_for_a_pgpool_elsewhere() -> None:
    """127.1 is an address only for the resolver: as a hosts file may, it leads to this machine."""
    async with FakeMemcached() as fake:
        told = await memcached.ask(Place("127.1", fake.port), pgpool_host=ELSEWHERE)
        own = await memcached.ask(Place("127.1", fake.port), pgpool_host=HERE)

    assert (told.state, own.state) == (MemcachedState.UNREACHABLE, MemcachedState.ALIVE)
    assert "means Lifeguard's own machine here" in told.reason
    assert fake.questions == 1


@pytest.fixture
def real() -> Iterator[tuple[subprocess.Popen[bytes], Place]]:
    """A real memcached of 2 MiB; as root it runs as nobody."""
    program = shutil.which("memcached")
    assert program is not None, "make setup-tests installs it"
    port = closed_port()
    account = ["-u", "nobody"] if os.geteuid() == 0 else []
    with subprocess.Popen([program, "-l", HERE, "-p", str(port), "-U", "0", "-m", "2", *account]) as process:
        yield process, Place(HERE, port)
        process.kill()


async def reached(place: Place, state: MemcachedState) -> MemcachedTold:
    """A signal is acted on in its own time."""
    for _ in range(100):
        told = await memcached.ask(place, pgpool_host=HERE)
        if told.state == state:
            break
        await asyncio.sleep(0.1)
    return told


async def test_a_real_one_alive_stopped_let_go_on_and_killed(real: tuple[subprocess.Popen[bytes], Place]) -> None:
    process, place = real
    alive = await reached(place, MemcachedState.ALIVE)
    process.send_signal(signal.SIGSTOP)
    frozen = await reached(place, MemcachedState.FROZEN)
    process.send_signal(signal.SIGCONT)
    again = await reached(place, MemcachedState.ALIVE)
    process.kill()
    process.wait()
    gone = await memcached.ask(place, pgpool_host=HERE)

    assert [one.state for one in (alive, frozen, again, gone)] == ["alive", "frozen", "alive", "gone"]
    assert again.stats is not None
    assert (again.stats.items, again.stats.limit_bytes, again.stats.evictions) == (0, 2 << 20, 0)
    assert "no answer within 1 s" in frozen.reason
