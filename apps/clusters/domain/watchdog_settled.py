"""What the watchdogs agree on, and how that differs from what they agreed on before, in words."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from apps.clusters.domain.pgpool_views import listed
from apps.clusters.domain.watchdog import Watchdog

SHUTDOWN = "shutdown"
_WITHOUT_QUORUM = frozenset({"absent", "no leader"})


@dataclass(frozen=True)
class Settled:
    """Pgpools by the names that the watchdog gives them. leader: "" while nobody knows it.

    gone: those that the others hold for lost, shut down or dead.
    """

    leader: str
    has_quorum: bool
    gone: frozenset[str] = frozenset()


@dataclass(frozen=True)
class WatchdogChange:
    """node: what it is about, "" for all of them."""

    title: str
    detail: str = ""
    is_problem: bool = False
    node: str = ""


def settled(watchdogs: Sequence[Watchdog], before: Settled | None) -> Settled | None:
    """What holds now by these, all told lately. None: nobody tells anything.

    While somebody is on the way into another state, or they name different leaders, what held before holds. Those cut
    off from the quorum see the others as lost: as long as there is one, only those who have it count.
    """
    if not watchdogs or any(each.is_electing for each in watchdogs):
        return before
    with_quorum = [each for each in watchdogs if each.quorum not in _WITHOUT_QUORUM]
    counted = with_quorum or watchdogs
    leaders = {each.leader_name for each in counted} - {""}
    if len(leaders) > 1:
        return before
    known = before.leader if before is not None else ""
    gone = {node.name for each in counted for node in each.nodes[1:] if node.is_gone}
    return Settled(leader=next(iter(leaders), known), has_quorum=bool(with_quorum), gone=frozenset(gone))


def changes(
    before: Settled, now: Settled, watchdogs: Sequence[Watchdog], name_of: Callable[[str], str]
) -> Iterator[WatchdogChange]:
    """name_of: how a pgpool is registered whom the watchdog calls so."""
    for node in sorted(now.gone - before.gone, key=name_of):
        yield _gone(node, watchdogs, name_of)
    listed_there = {node.name for each in watchdogs for node in each.nodes}
    for node in sorted((before.gone - now.gone) & listed_there, key=name_of):
        yield WatchdogChange(f"The watchdog has {name_of(node)} again", node=node)
    if now.leader != before.leader and now.leader:
        was = f"Before, {name_of(before.leader)} did." if before.leader else ""
        yield WatchdogChange(f"{name_of(now.leader)} leads the watchdog", was, node=now.leader)
    if before.has_quorum and not now.has_quorum:
        detail = (
            f"{_alive(watchdogs)}. No failover is carried out while failover_when_quorum_exists is on, and nobody "
            "holds a virtual address."
        )
        yield WatchdogChange("The watchdog lost its quorum", detail, is_problem=True)
    if now.has_quorum and not before.has_quorum:
        yield WatchdogChange("The watchdog has a quorum again", f"{_alive(watchdogs)}.")


def _gone(name: str, watchdogs: Sequence[Watchdog], name_of: Callable[[str], str]) -> WatchdogChange:
    held = {name_of(each.own.name): node for each in watchdogs for node in each.nodes[1:] if node.name == name}
    blind = {who: node for who, node in held.items() if node.is_gone}
    states = listed(sorted({node.state for node in blind.values()}), "or")
    detail = f"Held for {states} by {listed(sorted(blind))}. It has no part in failovers, and learns of none."
    if all(node.state == SHUTDOWN for node in blind.values()):
        return WatchdogChange(f"{name_of(name)} left the watchdog", detail, node=name)
    return WatchdogChange(f"The watchdog lost {name_of(name)}", detail, is_problem=True, node=name)


def _alive(watchdogs: Sequence[Watchdog]) -> str:
    """By the leader, else by the one that sees most of them."""
    most = max(watchdogs, key=lambda each: (each.is_leader, sum(node.is_alive for node in each.nodes)))
    alive = sum(node.is_alive for node in most.nodes)
    needed = f", {most.needed} make a quorum" if most.needed else ""
    return f"{alive} of {len(most.nodes)} pgpools {'is' if alive == 1 else 'are'} alive{needed}"
