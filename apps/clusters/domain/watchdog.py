"""What pgpool's watchdog tells of the pgpools by PCP: who leads, whether there is a quorum, who is lost."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# What PCP calls nothing.
_NOT_SET = "Not_Set"
QUORUMS: Mapping[int, str] = {1: "present", 0: "on the edge", -1: "absent", -2: "no leader"}
LEADER, STANDBY = "leader", "standby"
ALIVE = frozenset({LEADER, STANDBY})
GONE = frozenset({"lost", "shutdown", "dead", "in network trouble", "network isolation"})
# Before 4.2 the leader was called so.
_FORMER_NAMES = {"master": LEADER}


class WatchdogUnreadable(ValueError):
    """What PCP told of the watchdog is not understood."""


@dataclass(frozen=True)
class WatchdogNode:
    """One pgpool as another one's watchdog sees it.

    name: as the watchdog writes it, the same everywhere. state: leader, standby, lost, shutdown, initializing and so
    on, in lower case; a state that is neither in ALIVE nor in GONE passes within seconds.
    """

    name: str
    hostname: str
    port: int
    state: str
    priority: int | None = None

    @property
    def is_alive(self) -> bool:
        return self.state in ALIVE

    @property
    def is_gone(self) -> bool:
        return self.state in GONE or self.state.startswith("revoked")


@dataclass(frozen=True)
class Watchdog:
    """The watchdog of one pgpool. nodes: itself first. needed: alive pgpools that make a quorum, itself counted.

    delegate_ip: the virtual address, "" where none is configured; holds_address: this pgpool has brought it up.
    """

    quorum: str
    leader_name: str
    delegate_ip: str
    holds_address: bool
    needed: int | None
    nodes: tuple[WatchdogNode, ...]

    @property
    def own(self) -> WatchdogNode:
        return self.nodes[0]

    @property
    def is_leader(self) -> bool:
        return self.own.state == LEADER

    @property
    def is_electing(self) -> bool:
        """Whether some pgpool is on its way into another state: for some seconds, nothing is settled."""
        return any(not node.is_alive and not node.is_gone for node in self.nodes)


def parse(text: str) -> Watchdog:
    """The JSON that PCP answers `W` with. Raises WatchdogUnreadable."""
    try:
        told = json.loads(text)
        nodes = tuple(_node(each) for each in told["WatchdogNodes"])
        quorum = int(told["QuorumStatus"])
        needed = told.get("NodesRequireForQuorum")
        address = _set(nodes and told["WatchdogNodes"][0].get("DelegateIP"))
        found = Watchdog(
            quorum=QUORUMS.get(quorum, f"unknown ({quorum})"),
            leader_name=_set(told.get("LeaderNodeName", told.get("MasterNodeName"))),
            delegate_ip=address,
            holds_address=bool(address) and int(told.get("Escalated", 0)) == 1,
            needed=None if needed is None else int(needed),
            nodes=nodes,
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise WatchdogUnreadable(f"PCP told of the watchdog in a way no known version does: {error!r}") from error
    if not nodes:
        raise WatchdogUnreadable("PCP told of a watchdog without a single pgpool")
    return found


def _node(told: Mapping[str, Any]) -> WatchdogNode:
    state = _set(told["StateName"]).lower()
    membership = _set(told.get("MembershipString")).lower()
    priority = told.get("Priority")
    return WatchdogNode(
        name=_set(told["NodeName"]),
        hostname=_set(told["HostName"]),
        port=int(told["PgpoolPort"]),
        state=membership if membership.startswith("revoked") else _FORMER_NAMES.get(state, state),
        priority=None if priority is None else int(priority),
    )


def _set(value: object) -> str:
    """Raises ValueError for what no database keeps: the character NUL, half a character."""
    text = "" if value in (None, (), _NOT_SET) else str(value)
    if "\0" in text or not text.isprintable():
        raise ValueError(f"{text!r} is no name")
    return text
