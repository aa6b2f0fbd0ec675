"""Places before the servers of a cluster that are none of its pgpools: as topologies, and in words."""

from __future__ import annotations

import re
from dataclasses import dataclass

from apps.benchmarks.domain.topologies import ENDPOINT, Server, Topology, place_of

# Keys of the other topologies, and what people read of them in labels and arms.
_OTHER_TOPOLOGY = re.compile(
    r"primary( direct)?|standbys?|pgpools?|standby \d+( direct)?|(standby|pgpool|pgpools|commit):.*|"
    r"(all|one|\d+)( (of )?\d+)? (standbys?|pgpools?)( direct)?",
    re.IGNORECASE,
)
BALANCER = "balancer"
ROUTER = "router"
POOLER = "pooler"


@dataclass(frozen=True)
class Endpoint:
    """kind: pooler, router, balancer or other. pgpools_behind: over how many its sessions are spread; 0: over none."""

    name: str
    host: str
    port: int
    kind: str
    takes_writes: bool
    pgpools_behind: int = 0

    @property
    def key(self) -> str:
        return f"{ENDPOINT}:{self.name}"

    @property
    def words(self) -> str:
        """pooler, 10.0.0.5:6432; balancer before 3 pgpools, 10.0.0.5:5432"""
        count = self.pgpools_behind
        before = f" before {count} pgpool{'' if count == 1 else 's'}" if count else ""
        return f"{self.kind}{before}, {place_of(self.host, self.port)}"


def topology(endpoint: Endpoint) -> Topology:
    server = Server(
        endpoint.name,
        endpoint.host,
        endpoint.port,
        is_endpoint=True,
        pgpools_behind=endpoint.pgpools_behind,
        # What reads the protocol takes no options that it does not know; what only passes bytes on hands them over.
        passes_options=endpoint.kind == BALANCER,
        # The next transaction may run in another session of the server.
        keeps_statements=endpoint.kind != POOLER,
    )
    return Topology(endpoint.key, f"endpoint {endpoint.name} ({endpoint.words})", (server,), endpoint.takes_writes)


def is_endpoint(key: str) -> bool:
    """Of a topology's key."""
    return key.startswith(f"{ENDPOINT}:")


def is_another_topology(name: str) -> bool:
    """Whether people would take a run through an endpoint of this name for one that goes elsewhere."""
    return _OTHER_TOPOLOGY.fullmatch(" ".join(name.split())) is not None
