"""The live connection test before a registration: what was tried, what failed, what mends it, what was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict

from django.conf import settings

from apps.accounts.models import Organisation
from apps.clusters.domain.show_rows import PoolNode
from apps.clusters.polling.shows import size_bytes
from apps.clusters.queries.shared_pgpools import also_watched, watchers
from apps.clusters.registry import cluster_survey
from apps.clusters.registry.cluster_survey import Ask, whole_question
from apps.clusters.registry.cluster_wanted import BackendWanted, ClusterWanted
from apps.clusters.registry.connection_survey import (
    AskedPgpool,
    PgpoolFindings,
    Question,
    Survey,
    SurveyStep,
    direct_address,
)
from apps.clusters.registry.delivery_claims import Claim, claim
from apps.clusters.registry.delivery_refusals import delivery_errors


class ReportStep(TypedDict):
    """target: as "pgpool-1 127.0.0.1:9999". fix: the line or statement that mends it, "" where none is known."""

    target: str
    step: str
    state: Literal["ok", "warning", "failed", "skipped"]
    text: str
    fix: str


class DiscoveredBackend(TypedDict):
    """weight: its share of new sessions, null while all weights are 0. az: as wanted."""

    node_id: int
    hostname: str
    port: int
    role: str
    status: str
    weight: float | None
    application_name: str
    az: str


class Discovered(TypedDict):
    """What the first pgpool that answered shows. delay_threshold is in bytes, 0 ignores lag."""

    version: str
    backends: list[DiscoveredBackend]
    num_init_children: int | None
    delay_threshold: int | None
    statement_level: bool


class ConnectionReport(TypedDict):
    """is_ok: it can be registered so; warnings do not stand in the way."""

    is_ok: bool
    steps: list[ReportStep]
    discovered: Discovered | None


@dataclass(frozen=True)
class Findings:
    """errors: field of the input -> message. claims: field of a pgpool -> the file that it is delivered to."""

    survey: Survey
    errors: Mapping[str, str]
    steps: tuple[SurveyStep, ...]
    claims: Mapping[str, Claim]


def test_connection(wanted: ClusterWanted, *, organisation: Organisation) -> ConnectionReport:
    """Try what registration would do and store nothing."""
    findings = examine(question_of(wanted), organisation=organisation)
    first = findings.survey.first
    return ConnectionReport(
        is_ok=not findings.errors,
        steps=[_report_step(step) for step in findings.steps],
        discovered=_discovered(first, wanted) if first is not None else None,
    )


def question_of(wanted: ClusterWanted) -> Question:
    return Question(
        username=wanted.username,
        password=wanted.password,
        sslmode=wanted.sslmode,
        pgpools=tuple(
            AskedPgpool(f"pgpools.{position}", pgpool.name or f"pgpool-{position + 1}", pgpool)
            for position, pgpool in enumerate(wanted.pgpools)
        ),
        backends=wanted.backends,
        own_database=own_database(),
        is_observe_only=wanted.is_observe_only,
    )


def own_database() -> tuple[str, int] | None:
    """Where Lifeguard's own PostgreSQL listens: no cluster may be made of it."""
    database = settings.DATABASES["default"]
    host, port = str(database.get("HOST") or ""), str(database.get("PORT") or 5432)
    return None if not host or host.startswith("/") else (host, int(port))


def examine(question: Question, *, organisation: Organisation, ask: Ask = cluster_survey.ask) -> Findings:
    """Ask everything, look at the files, and gather what stands in the way. ask: where it was asked beforehand."""
    heard = ask(whole_question(question, organisation=organisation))
    survey, looks, forbidden = heard.survey, heard.looks, heard.forbidden
    errors: dict[str, str] = {}
    steps: list[SurveyStep] = []
    claims: dict[str, Claim] = {}
    for found in survey.pgpools:
        taken = [each.target for each in claims.values() if each.target is not None]
        claimed = claim(found, organisation=organisation, looks=looks, taken=taken)
        steps += [*found.steps, *claimed.steps]
        for field, message in found.errors.items():
            errors[field] = f"{errors[field]} {message}" if field in errors else message
        if claimed.error is not None:
            errors[f"{found.asked.field}.delivery.{claimed.field}"] = claimed.error
        claims[found.asked.field] = claimed
    for step in survey.backend_steps:
        steps.append(step)
        if step.state == "failed" and not forbidden:
            errors["backends"] = f"{step.target}: {step.text}"
    errors |= {**_unknown_backends(survey, question.backends), **forbidden}
    errors |= delivery_errors(question.pgpools, organisation=organisation, is_observe_only=question.is_observe_only)
    return Findings(survey, errors, (*steps, *_shared(question.pgpools, organisation)), claims)


def _shared(pgpools: Sequence[AskedPgpool], organisation: Organisation) -> list[SurveyStep]:
    """A warning for each pgpool that another cluster of the organisation watches too."""
    watching = watchers(organisation_id=organisation.pk)
    own = {asked.instance_id for asked in pgpools}
    steps = []
    for asked in pgpools:
        place = (asked.wanted.host.lower(), asked.wanted.port)
        if others := [each for each in watching.get(place, ()) if each.instance_id not in own]:
            steps.append(SurveyStep(asked.target, "shared", "warning", also_watched(others)))
    return steps


def _unknown_backends(survey: Survey, backends: tuple[BackendWanted, ...]) -> dict[str, str]:
    if survey.first is None:
        return {}
    shown = {node.node_id for node in survey.first.nodes}
    listed = ", ".join(str(node_id) for node_id in sorted(shown))
    return {
        f"backends.{position}.node_id": f"there is no backend {backend.node_id}; pgpool shows {listed}"
        for position, backend in enumerate(backends)
        if backend.node_id not in shown
    }


def _report_step(step: SurveyStep) -> ReportStep:
    return ReportStep(target=step.target, step=step.step, state=step.state, text=step.text, fix=step.fix)


def _discovered(first: PgpoolFindings, wanted: ClusterWanted) -> Discovered:
    children = first.settings.get("num_init_children", "")
    return Discovered(
        version=first.version,
        backends=[_backend(node, first, wanted) for node in first.nodes],
        num_init_children=int(children) if children.isdecimal() else None,
        delay_threshold=delay_threshold_bytes(first),
        statement_level=is_statement_level(first),
    )


def _backend(node: PoolNode, first: PgpoolFindings, wanted: ClusterWanted) -> DiscoveredBackend:
    host, port = direct_address(node, wanted.backends)
    return DiscoveredBackend(
        node_id=node.node_id,
        hostname=host,
        port=port,
        role=node.role,
        status=node.status,
        weight=node.lb_weight,
        application_name=application_name(first, node.node_id),
        az=az_of(node.node_id, wanted.backends),
    )


def az_of(node_id: int, backends: tuple[BackendWanted, ...]) -> str:
    return next((each.az for each in backends if each.node_id == node_id), "")


def application_name(found: PgpoolFindings, node_id: int) -> str:
    return found.settings.get(f"backend_application_name{node_id}", "")


def is_statement_level(found: PgpoolFindings) -> bool:
    return found.settings.get("statement_level_load_balance") == "on"


def delay_threshold_bytes(found: PgpoolFindings) -> int | None:
    return size_bytes(found.settings.get("delay_threshold"))
