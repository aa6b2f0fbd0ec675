"""One pgpool asked about one backend, and told to attach or detach it: what counts is what it shows afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from apps.clusters.domain.instance_numbering import Address, differences
from apps.clusters.domain.pool_sessions import HeldSession, sessions_on
from apps.clusters.domain.show_rows import ShowRowError, parse_pool_nodes
from apps.clusters.outside import pcp, pgpool_client
from apps.clusters.outside.pcp import PcpAddress, PcpError
from apps.clusters.outside.pgpool_client import PgpoolAddress, PgpoolConnection, PgpoolUnreachable

SHOW_DEADLINE_S = 2.0
PCP_DEADLINE_S = 2.0
# pgpool takes an attach or a detach in within 0.2 s; it does nothing while it looks for a primary.
PATIENCE_S = 2.0
PAUSE_S = 0.1
# Of bringing a backend up or down in all: looking, asking, and looking again until patience and one look are over.
LONGEST_S = SHOW_DEADLINE_S + 3 * PCP_DEADLINE_S + PATIENCE_S + SHOW_DEADLINE_S

UP = ("up", "waiting")  # waiting: up, and no session has used it yet
Wanted = Literal["up", "down"]


@dataclass(frozen=True)
class ShownNodes:
    """The backends as one pgpool shows them, by node_id. source: which of its two channels told it."""

    statuses: Mapping[int, str]
    roles: Mapping[int, str]
    addresses: Mapping[int, Address]
    shares: Mapping[int, float | None]
    source: str

    def is_so(self, node_id: int, wanted: Wanted) -> bool:
        return (self.statuses.get(node_id) in UP) if wanted == "up" else self.statuses.get(node_id) == "down"


@dataclass(frozen=True)
class Brought:
    """A backend is up or down as it was wanted. answer: what PCP said, "" where nothing had to be asked."""

    before: ShownNodes
    after: ShownNodes
    answer: str


class NotBrought(Exception):
    """pgpool does not show the backend as it was wanted, or must not be told."""

    def __init__(self, reason: str, before: ShownNodes | None = None, answer: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.before = before
        self.answer = answer


async def shown_nodes(address: PgpoolAddress, control: PcpAddress | None) -> ShownNodes:
    """By SHOW POOL_NODES; by PCP where SQL does not answer, as while a backend is frozen. Raises PgpoolUnreachable."""
    try:
        return await _by_sql(address)
    except PgpoolUnreachable:
        if control is None:
            raise
        try:
            return await _by_pcp(control)
        except PcpError:
            pass  # what SQL said is the better clue
        raise


async def held_sessions(address: PgpoolAddress, node_id: int) -> tuple[HeldSession, ...]:
    """The sessions of others that are connected to this backend. Raises PgpoolUnreachable or ShowRowError."""
    rows = await show(address, "SHOW POOL_POOLS")
    found = sessions_on(rows, node_id)
    return tuple(one for one in found if (one.username, one.database) != (address.username, address.database))


async def bring(
    address: PgpoolAddress, control: PcpAddress, node_id: int, wanted: Wanted, *, known: Mapping[int, Address]
) -> Brought:
    """Attach or detach the backend unless it is so already, and look until it is. Raises NotBrought.

    known: node_id -> (host, port) in the cluster. PCP takes a number: where that is another server nothing is asked.
    """
    try:
        before = await shown_nodes(address, control)
    except (PgpoolUnreachable, ShowRowError) as error:
        raise NotBrought(_said(error)) from error
    if why_not := _must_not(before, node_id, wanted, known):
        raise NotBrought(f"{why_not}; nothing was asked of it", before)
    if before.is_so(node_id, wanted):
        return Brought(before, before, "")
    answer = await _asked(control, node_id, wanted)
    after = await _awaited(address, control, node_id, wanted)
    if isinstance(after, ShownNodes) and (different := differences(known, after.addresses)):
        raise NotBrought(f"PCP said: {answer}; then {_renumbered(different)}", before, answer)
    if isinstance(after, ShownNodes) and after.is_so(node_id, wanted):
        return Brought(before, after, answer)
    if isinstance(after, ShownNodes):
        shown = f"{after.source} shows it as {after.statuses.get(node_id, 'unknown')} {PATIENCE_S:.0f} s later"
    else:
        shown = f"then it was not seen: {after}"
    raise NotBrought(f"PCP said: {answer}; {shown}", before, answer)


async def show(address: PgpoolAddress, sql: str) -> list[dict[str, str | None]]:
    """Rows of one SHOW on a session of its own. Raises PgpoolUnreachable."""
    loop = asyncio.get_running_loop()
    end = loop.time() + SHOW_DEADLINE_S
    connection: PgpoolConnection = await pgpool_client.connect(address, deadline_s=SHOW_DEADLINE_S)
    try:
        return await connection.show(sql, deadline_s=max(end - loop.time(), 0.01))
    finally:
        await connection.close()


def _must_not(before: ShownNodes, node_id: int, wanted: Wanted, known: Mapping[int, Address]) -> str:
    """Why it must not be told, "" where it may: it may have been silent when all pgpools were asked."""
    if different := differences(known, before.addresses):
        return _renumbered(different)
    is_used = before.is_so(node_id, "up") and before.roles.get(node_id) == "primary"
    return "it holds the backend for its primary, and would fail over" if is_used and wanted == "down" else ""


def _renumbered(different: Sequence[str]) -> str:
    return f"it numbers the backends differently: {'; '.join(different)}"


async def _asked(control: PcpAddress, node_id: int, wanted: Wanted) -> str:
    """What PCP answered; a refusal too is settled by looking."""
    ask = pcp.attach_node if wanted == "up" else pcp.detach_node
    try:
        await ask(control, node_id, deadline_s=PCP_DEADLINE_S)
    except PcpError as error:
        return f"{error.reason}. {error.fix}".strip(". ")
    return "Command Successful"


async def _awaited(address: PgpoolAddress, control: PcpAddress, node_id: int, wanted: Wanted) -> ShownNodes | str:
    """The latest look, or why there was none."""
    loop = asyncio.get_running_loop()
    end = loop.time() + PATIENCE_S
    while True:
        latest: ShownNodes | str
        try:
            latest = await shown_nodes(address, control)
            if latest.is_so(node_id, wanted):
                return latest
        except (PgpoolUnreachable, ShowRowError) as error:
            latest = _said(error)
        if loop.time() + PAUSE_S > end:
            return latest
        await asyncio.sleep(PAUSE_S)


async def _by_sql(address: PgpoolAddress) -> ShownNodes:
    nodes = parse_pool_nodes(await show(address, "SHOW POOL_NODES"))
    return ShownNodes(
        {node.node_id: node.status for node in nodes},
        {node.node_id: node.role for node in nodes},
        {node.node_id: (node.hostname, node.port) for node in nodes},
        {node.node_id: node.lb_weight for node in nodes},
        "SHOW POOL_NODES",
    )


async def _by_pcp(control: PcpAddress) -> ShownNodes:
    nodes = await pcp.node_info(control, deadline_s=PCP_DEADLINE_S)
    return ShownNodes(
        {node.node_id: node.status for node in nodes},
        {node.node_id: node.role for node in nodes},
        {node.node_id: (node.hostname, node.port) for node in nodes},
        {node.node_id: node.weight_share for node in nodes},
        "pcp_node_info",
    )


def _said(error: PgpoolUnreachable | ShowRowError) -> str:
    return error.reason if isinstance(error, PgpoolUnreachable) else f"it shows its backends in an unknown way: {error}"
