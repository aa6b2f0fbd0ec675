"""Where the load of a run can go, for somebody who chooses: how many clients fit, or why it cannot be chosen."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass

from apps.benchmarks.domain import topologies
from apps.benchmarks.domain.run_wish import Limits, Room
from apps.benchmarks.domain.topologies import Server, Topology
from apps.benchmarks.domain.workloads import WRITES, Workload


@dataclass(frozen=True)
class Choice:
    """most_clients: that fit, within what the cluster allows. why_not: "" where it can be chosen. note: to know."""

    topology: Topology
    most_clients: int
    why_not: str
    note: str = ""

    @property
    def words(self) -> str:
        """Behind its label: how many fit, or why it cannot be chosen."""
        fit = f"at most {self.most_clients} client{'' if self.most_clients == 1 else 's'}"
        return self.why_not or "; ".join(part for part in (fit, self.note) if part)


def choices(offered: Sequence[Topology], *, workload: Workload, limits: Limits) -> list[Choice]:
    """Levels of synchronous_commit only where something is committed that could wait."""
    writes = workload.writes or WRITES.name in workload.parameters
    return [_choice(topology, workload, limits) for topology in offered if writes or not topology.commit_level]


def _choice(topology: Topology, workload: Workload, limits: Limits) -> Choice:
    most = most_clients(topology, limits)
    why_not = ""
    # Where a workload leaves it to the run whether it writes, its form decides that.
    if workload.writes and WRITES.name not in workload.parameters and not topology.takes_writes:
        why_not = "takes no writes, and this workload writes"
    elif most < len(topology.servers):
        why_not = "no session is free there now"
    return Choice(topology, most, why_not, topology.note)


def most_clients(topology: Topology, limits: Limits) -> int:
    """Spread evenly, so the server with the least room decides."""
    rooms = [_free(server, limits) for server in topology.servers]

    def too_many(clients: int) -> bool:
        wanted = topologies.shares(clients, len(rooms))
        return any(free is not None and share > free for share, free in zip(wanted, rooms, strict=True))

    # What fits, fits with fewer as well: the first count that does not is found by halving.
    return bisect.bisect_left(range(1, limits.most_clients + 1), True, key=too_many)


def _free(server: Server, limits: Limits) -> int | None:
    room = limits.rooms.get(server.name, Room())
    return None if room.free is None else max(0, room.free)
