"""Free loopback ports, chosen once per lab and kept."""

import random
import socket
from collections.abc import Collection, Iterable, Mapping

# Below the kernel's ephemeral range (32768 up), so that no outgoing connection takes one of them meanwhile.
CANDIDATES = range(20000, 32000)
NEVER = frozenset({5432, 6379, 9898, 9999, 11211})


class NoFreePort(RuntimeError):
    """Every port tried is in use."""


def is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # Without it a port whose last connection is in TIME_WAIT looks taken.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def choose(taken: Collection[int], chance: random.Random) -> int:
    for _ in range(1000):
        port = chance.choice(CANDIDATES)
        if port not in taken and port not in NEVER and is_free(port):
            return port
    raise NoFreePort("no free port found between 20000 and 32000 in 1000 tries")


def keep_or_choose(
    wanted: Iterable[str], known: Mapping[str, int], ours: Collection[int], chance: random.Random
) -> dict[str, int]:
    """One port per name: the known one while it is free or in `ours` (served by this lab), else a new one."""
    ports: dict[str, int] = {}
    for name in wanted:
        port = known.get(name)
        if port is None or not (port in ours or is_free(port)):
            port = choose({*ports.values(), *known.values()}, chance)
        ports[name] = port
    return ports
