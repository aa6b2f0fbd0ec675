"""What a run is asked first of where its load goes: an endpoint lets it in, to the server and tables that are meant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from apps.benchmarks.control.endpoint_visit import belonging, visit
from apps.benchmarks.domain.endpoints import POOLER, ROUTER
from apps.benchmarks.domain.run_wish import Wish
from apps.benchmarks.domain.topologies import Server
from apps.benchmarks.drivers.driver import Account, CannotPrepare, Driver, NotAnswered
from apps.clusters.models import Cluster


@dataclass(frozen=True)
class Reached:
    """leads_to_primary: whether all sessions are known to end there. notes: on what is behind an endpoint.

    stays_within: whether all are known to end at servers of the cluster.
    """

    leads_to_primary: bool = False
    stays_within: bool = True
    notes: tuple[str, ...] = ()


def reach(
    wish: Wish, account: Account, *, cluster: Cluster, primary: Server, watch: Callable[[], None]
) -> Reached:  # fmt: skip
    """Before anything is prepared. Raises CannotPrepare with where it is and what to look at.

    watch: called all the time, as servers that are silent may outlast a lease; may raise.
    """
    server = wish.topology.endpoint
    if server is None:
        _refuse_other_servers(wish, account, primary, watch)
        return Reached()
    found = visit(server, account, watch=watch)
    if found.refusal:
        raise CannotPrepare(f"endpoint {server.full_name} takes no load. {found.refusal} {found.fix}".strip())
    kind = _kind(cluster, server)
    whose = belonging(found, account, primary=primary, watch=watch)
    if whose.is_of_cluster is False and kind != ROUTER:
        raise CannotPrepare(
            f"endpoint {server.full_name} leads to {whose.words}. Let its database {account.database} lead to that of "
            f"the servers of {cluster.name}; where it is to lead to servers of its own, register it as a router."
        )
    if wish.writes and found.is_in_recovery:
        raise CannotPrepare(
            f"endpoint {server.full_name} leads to a standby, and this load writes. Choose one that only reads, or let "
            "the endpoint lead to the primary."
        )
    notes: tuple[str, ...] = ()
    if whose.is_of_cluster is False:
        notes = (f"{server.name}, a router, leads to {whose.words}",)
    elif whose.is_of_cluster is None:
        notes = (f"nobody knows whether {server.name} leads to the servers of {cluster.name}: {whose.words}",)
    # Others may lead the next session elsewhere, as pgpools behind it do with the next statement.
    stays_within = bool(whose.is_of_cluster) and kind != ROUTER
    return Reached(kind == POOLER and found.is_in_recovery is False, stays_within, notes)


def _refuse_other_servers(wish: Wish, account: Account, primary: Server, watch: Callable[[], None]) -> None:
    """Backends that are registered at a wrong address. One that does not answer fails later, by itself."""
    others = [one for one in wish.topology.servers if one != primary] if wish.topology.is_direct else []
    for server in others:
        whose = belonging(visit(server, account, watch=watch), account, primary=primary, watch=watch)
        if whose.is_of_cluster is False:
            raise CannotPrepare(
                f"standby {server.full_name} is {whose.words}. Look at the address that it is registered with."
            )


def look_behind(driver: Driver, wish: Wish, account: Account, *, cluster: Cluster, primary: Server) -> list[str]:
    """Notes on what could not be seen there. Raises CannotPrepare where no tables as those of the run are behind it."""
    server = wish.topology.endpoint
    if server is None:
        return []
    is_router = _kind(cluster, server) == ROUTER
    try:
        standing = driver.look(wish, server, account)
    except NotAnswered as error:
        # A router answers what it can send somewhere; what lies behind it may be spread over many.
        if not is_router:
            raise
        return [f"nobody saw whether tables as those of the run stand behind {server.name}: {error}"]
    if standing.is_ready:
        return []
    if is_router:
        return [f"behind {server.name} there are no tables of the names and size that were made on {primary.name}"]
    raise CannotPrepare(
        f"endpoint {server.full_name} leads to a database without tables of the names and size that were made on "
        f"{primary.name}. Let its "
        f"database {account.database} lead to that of the servers of {cluster.name}."
    )


def _kind(cluster: Cluster, server: Server) -> str | None:
    return cluster.benchmark_endpoints.filter(name=server.name).values_list("kind", flat=True).first()
