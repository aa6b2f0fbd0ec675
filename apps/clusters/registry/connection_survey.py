"""Asks every pgpool, its PCP, every backend and every file of a cluster before anything is stored."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from apps.clusters.domain import instance_numbering
from apps.clusters.domain.show_rows import (
    PoolNode,
    ShowRowError,
    parse_pool_nodes,
    parse_pool_version,
    parse_show_all,
)
from apps.clusters.outside.backend_client import BackendAddress
from apps.clusters.outside.diagnosis import DiagnosisStep, diagnose, diagnose_backend
from apps.clusters.outside.pcp import PcpAddress, PcpError, node_info
from apps.clusters.outside.pgpool_client import PgpoolAddress, PgpoolUnreachable, connect
from apps.clusters.outside.sockets import (
    AddressForbidden,
    DeadlinePassed,
    Unreachable,
    by_deadline,
    machines_at,
    resolve,
)
from apps.clusters.registry.cluster_wanted import BackendWanted, PcpWanted, PgpoolWanted

STEP_DEADLINE_S = 4.0
TOTAL_DEADLINE_S = 30.0
# Each takes several sessions with SCRAM: a hundred at once would make each other late.
PGPOOLS_AT_ONCE = 24
State = Literal["ok", "warning", "failed", "skipped"]
Address = tuple[str, int]


@dataclass(frozen=True)
class SurveyStep:
    target: str
    step: str
    state: State
    text: str
    fix: str = ""


@dataclass(frozen=True)
class AskedPgpool:
    """field: under which name of the input a refusal is told, as pgpools.0. instance_id: None for a new one."""

    field: str
    name: str
    wanted: PgpoolWanted
    instance_id: int | None = None

    @property
    def target(self) -> str:
        return f"{self.name} {self.wanted.host}:{self.wanted.port}"


@dataclass(frozen=True)
class Question:
    """known: node_id -> (host, port) as the cluster numbers its backends already, None for a new cluster.

    others: pgpools of the cluster that are not asked; none of those asked may be one of them under another name.
    """

    username: str
    password: str = field(repr=False)
    sslmode: str
    pgpools: tuple[AskedPgpool, ...]
    backends: tuple[BackendWanted, ...]
    own_database: Address | None
    known: Mapping[int, Address] | None = None
    others: tuple[AskedPgpool, ...] = ()
    is_observe_only: bool = False


@dataclass(frozen=True)
class PgpoolFindings:
    """nodes: empty where this pgpool did not answer. errors: field of the input -> why it cannot be registered."""

    asked: AskedPgpool
    steps: tuple[SurveyStep, ...]
    errors: Mapping[str, str]
    nodes: tuple[PoolNode, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    version: str = ""


@dataclass(frozen=True)
class Survey:
    pgpools: tuple[PgpoolFindings, ...]
    backend_steps: tuple[SurveyStep, ...] = ()

    @property
    def first(self) -> PgpoolFindings | None:
        """The first pgpool that answered; its view of the backends is the cluster's."""
        return next((found for found in self.pgpools if found.nodes), None)


def ask_all(question: Question) -> Survey:
    """All targets side by side, each step by its own deadline, the whole by TOTAL_DEADLINE_S."""
    try:
        return asyncio.run(by_deadline(_ask_all(question), deadline_s=TOTAL_DEADLINE_S))
    except DeadlinePassed as error:
        return Survey(tuple(_silent(asked, str(error)) for asked in question.pgpools))


def _silent(asked: AskedPgpool, reason: str) -> PgpoolFindings:
    step = SurveyStep(asked.target, "show", "failed", reason)
    return PgpoolFindings(asked, (step,), {f"{asked.field}.host": f"{asked.target}: {reason}"})


async def _ask_all(question: Question) -> Survey:
    found = await _ask_pgpools(question)
    twins = await same_pgpools((*question.others, *question.pgpools))
    pgpools = [_twin(each, twins.get(each.asked.field)) for each in found]
    survey = Survey(tuple(pgpools))
    first = survey.first
    if first is None:
        return survey
    known = question.known if question.known is not None else addresses(first.nodes)
    numbered = tuple(_numbering(each, known) for each in pgpools)
    steps = await asyncio.gather(*(_ask_backend(question, node) for node in first.nodes))
    return Survey(numbered, tuple(step for each in steps for step in each))


async def _ask_pgpools(question: Question) -> list[PgpoolFindings]:
    gate = asyncio.Semaphore(PGPOOLS_AT_ONCE)

    async def ask(asked: AskedPgpool) -> PgpoolFindings:
        async with gate:
            return await _ask_pgpool(question, asked)

    return await asyncio.gather(*map(ask, question.pgpools))


async def same_pgpools(pgpools: Sequence[AskedPgpool]) -> dict[str, AskedPgpool]:
    """field -> an earlier one that listens at the same address and port, however both are spelled."""
    found = await asyncio.gather(*(_machines_at((each.wanted.host, each.wanted.port)) for each in pgpools))
    twins: dict[str, AskedPgpool] = {}
    for position, each in enumerate(pgpools):
        for other, machines_there in zip(pgpools[:position], found[:position], strict=True):
            if each.wanted.port == other.wanted.port and found[position] & machines_there:
                twins.setdefault(each.field, other)
    return twins


async def same_place(place: Address, known: Sequence[Address]) -> Address | None:
    """The first of known that is at the same address and port, however both are spelled; None where none is."""
    there = [each for each in known if each[1] == place[1]]
    if not there:
        return None
    mine, *found = await asyncio.gather(*(_machines_at(each) for each in (place, *there)))
    return next((each for each, machines in zip(there, found, strict=True) if machines & mine), None)


async def _machines_at(place: Address) -> frozenset[str]:
    """None of them where the name does not resolve now."""
    try:
        return await machines_at(*place, deadline_s=STEP_DEADLINE_S)
    except Unreachable:
        return frozenset()


def _twin(found: PgpoolFindings, twin: AskedPgpool | None) -> PgpoolFindings:
    if twin is None:
        return found
    text = f"is the same pgpool as {twin.target}"
    step = SurveyStep(found.asked.target, "resolve", "failed", text, "Give each pgpool once.")
    return _with(found, step, {f"{found.asked.field}.host": _sentence(step)})


def addresses(nodes: Sequence[PoolNode]) -> dict[int, Address]:
    return {node.node_id: (node.hostname, node.port) for node in nodes}


async def _ask_pgpool(question: Question, asked: AskedPgpool) -> PgpoolFindings:
    place = (asked.wanted.host, asked.wanted.port)
    if await is_own_database(place, question.own_database):
        reason = "is Lifeguard's own database, which must not lie behind a pgpool that it steers"
        return _silent(asked, reason)
    address = PgpoolAddress(*place, question.username, question.password, sslmode=question.sslmode)
    diagnosis = await diagnose(address, deadline_s=STEP_DEADLINE_S)
    steps = tuple(_step(asked.target, step) for step in diagnosis.steps)
    errors = {_field(asked, step): _sentence(step) for step in steps if step.state == "failed"}
    found = PgpoolFindings(asked, steps, errors)
    if not errors:
        found = await _read(found, address)
    if asked.wanted.pcp is not None:
        found = await _ask_pcp(found, asked.wanted.pcp)
    return found


def _step(target: str, step: DiagnosisStep) -> SurveyStep:
    # Without pg_monitor pgpool is watched all the same; only lag and replication states stay hidden.
    is_only_hidden = step.name == "privilege" and step.state == "failed"
    return SurveyStep(target, step.name, "warning" if is_only_hidden else step.state, step.text, step.fix)


def _sentence(step: SurveyStep) -> str:
    return f"{step.target}: {step.text}" + (f" — {step.fix}" if step.fix else "")


def _field(asked: AskedPgpool, step: SurveyStep) -> str:
    if step.step == "tls" and "sslmode" in step.text + step.fix:
        return "sslmode"
    if step.step == "authenticate" and any(word in step.text for word in ("password", "pool_passwd", "role")):
        return "password"
    return f"{asked.field}.host"


async def _read(found: PgpoolFindings, address: PgpoolAddress) -> PgpoolFindings:
    try:
        connection = await connect(address, deadline_s=STEP_DEADLINE_S)
        try:
            nodes = parse_pool_nodes(await connection.show("SHOW pool_nodes", deadline_s=STEP_DEADLINE_S))
            settings = parse_show_all(await connection.show("PGPOOL SHOW ALL", deadline_s=STEP_DEADLINE_S))
            shown = await connection.show("SHOW pool_version", deadline_s=STEP_DEADLINE_S)
        finally:
            # It holds a child of the pgpool.
            await connection.close()
        version = parse_pool_version((shown[0].get("pool_version") if shown else None) or "")
    except (PgpoolUnreachable, ShowRowError) as error:
        step = SurveyStep(found.asked.target, "show", "failed", str(error), getattr(error, "fix", ""))
        return _with(found, step, {f"{found.asked.field}.host": _sentence(step)})
    return replace(found, nodes=nodes, settings=settings, version=version)


async def _ask_pcp(found: PgpoolFindings, pcp: PcpWanted) -> PgpoolFindings:
    target = found.asked.target
    address = PcpAddress(found.asked.wanted.host, pcp.port, pcp.username, pcp.password)
    try:
        nodes = await node_info(address, deadline_s=STEP_DEADLINE_S)
    except PcpError as error:
        step = SurveyStep(target, "pcp", "failed", error.reason, error.fix)
        part = "password" if error.step == "authenticate" else "port"
        return _with(found, step, {f"{found.asked.field}.pcp.{part}": _sentence(step)})
    if found.nodes and {node.node_id: (node.hostname, node.port) for node in nodes} != addresses(found.nodes):
        fix = "Check the port: this is the PCP port of another pgpool."
        step = SurveyStep(target, "pcp", "failed", f"PCP port {pcp.port} tells of other backends", fix)
        return _with(found, step, {f"{found.asked.field}.pcp.port": _sentence(step)})
    return _with(found, SurveyStep(target, "pcp", "ok", f"port {pcp.port} answers as {pcp.username}"), {})


def _numbering(found: PgpoolFindings, known: Mapping[int, Address]) -> PgpoolFindings:
    if not found.nodes:
        return found
    different = instance_numbering.differences(known, addresses(found.nodes))
    if not different:
        return _with(found, SurveyStep(found.asked.target, "numbering", "ok", "numbers the backends alike"), {})
    fix = "Give the same backend_hostnameN and backend_portN to all pgpools of the cluster."
    text = f"numbers the backends differently: {'; '.join(different)}"
    step = SurveyStep(found.asked.target, "numbering", "failed", text, fix)
    return _with(found, step, {f"{found.asked.field}.host": _sentence(step)})


def _with(found: PgpoolFindings, step: SurveyStep, errors: Mapping[str, str]) -> PgpoolFindings:
    return replace(found, steps=(*found.steps, step), errors={**found.errors, **errors})


async def _ask_backend(question: Question, node: PoolNode) -> tuple[SurveyStep, ...]:
    """A backend that does not answer directly is a warning: it may be down, or out of this machine's reach."""
    place = direct_address(node, question.backends)
    target = f"backend {node.node_id} {place[0]}:{place[1]}"
    if await is_own_database(place, question.own_database):
        text = "is the server of Lifeguard's own database, which must not lie behind a pgpool that it steers"
        return (SurveyStep(target, "show", "failed", text),)
    if place[0] != node.hostname and (reason := await why_forbidden(place[0])):
        return (SurveyStep(target, "resolve", "failed", reason),)
    address = BackendAddress(*place, question.username, question.password, sslmode=question.sslmode)
    diagnosis = await diagnose_backend(address, deadline_s=STEP_DEADLINE_S)
    return tuple(
        SurveyStep(target, step.name, "warning" if step.state == "failed" else step.state, step.text, step.fix)
        for step in diagnosis.steps
    )


def direct_address(node: PoolNode, backends: Sequence[BackendWanted]) -> Address:
    """Where Lifeguard asks a backend: as wanted, else as pgpool reaches it."""
    wanted = next((each for each in backends if each.node_id == node.node_id), None)
    if wanted is None:
        return node.hostname, node.port
    return wanted.host or node.hostname, wanted.port or node.port


async def why_forbidden(host: str) -> str | None:
    """Why nobody may point Lifeguard at this host; None for every other, also for one that does not resolve now."""
    try:
        await resolve(host, 0, deadline_s=STEP_DEADLINE_S)
    except AddressForbidden as error:
        return f"{error.reason}. {error.fix}"
    except Unreachable:
        return None
    return None


async def is_own_database(place: Address, own: Address | None) -> bool:
    return own is not None and await same_place(place, [own]) is not None
