"""Free loopback ports, chosen once per lab and kept."""

import random
from collections.abc import Collection, Iterable, Mapping

from deploy.machine import free_port, is_port_free


def keep_or_choose(
    wanted: Iterable[str], known: Mapping[str, int], ours: Collection[int], chance: random.Random
) -> dict[str, int]:
    """One port per name: the known one while it is free or in `ours` (served by this lab), else a new one."""
    ports: dict[str, int] = {}
    for name in wanted:
        port = known.get(name)
        if port is None or not (port in ours or is_port_free(port)):
            port = free_port(taken={*ports.values(), *known.values()}, randomness=chance)
        ports[name] = port
    return ports
