"""What a run that goes through an endpoint is asked first: whether it lets the load in, and to tables as its own."""

from __future__ import annotations

from apps.benchmarks.control.endpoint_visit import visit
from apps.benchmarks.domain.endpoints import POOLER, ROUTER
from apps.benchmarks.domain.run_wish import Wish
from apps.benchmarks.domain.topologies import Server
from apps.benchmarks.drivers.driver import Account, CannotPrepare, Driver, NotAnswered
from apps.clusters.models import Cluster


def reach(wish: Wish, account: Account, *, cluster: Cluster) -> bool:
    """Before anything is prepared: whether all of its sessions are known to lead to the primary.

    Raises CannotPrepare with where it is and what to look at.
    """
    server = wish.topology.endpoint
    if server is None:
        return False
    found = visit(server, account)
    if found.refusal:
        raise CannotPrepare(f"endpoint {_place(server)} takes no load. {found.refusal} {found.fix}".strip())
    if wish.writes and found.is_in_recovery:
        raise CannotPrepare(
            f"endpoint {_place(server)} leads to a standby, and this load writes. Choose one that only reads, or let "
            "the endpoint lead to the primary."
        )
    # Others may lead the next session elsewhere.
    return _kind(cluster, server) == POOLER and found.is_in_recovery is False


def look_behind(driver: Driver, wish: Wish, account: Account, *, cluster: Cluster, primary: Server) -> list[str]:
    """Notes on what could not be seen there. Raises CannotPrepare where no tables as those of the run are behind it.

    Tables of the same names and size in the database of another cluster are not told apart from the run's own.
    """
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
        f"endpoint {_place(server)} leads to a database without tables of the names and size that were made on "
        f"{primary.name}. Let its "
        f"database {account.database} lead to that of the servers of {cluster.name}."
    )


def _kind(cluster: Cluster, server: Server) -> str | None:
    return cluster.benchmark_endpoints.filter(name=server.name).values_list("kind", flat=True).first()


def _place(server: Server) -> str:
    return f"{server.name} ({server.place})"
