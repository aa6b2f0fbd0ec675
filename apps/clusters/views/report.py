"""A connection test in the order and the words of the page: one sentence, then every target with its steps."""

from dataclasses import dataclass

from django.http import QueryDict

from apps.clusters.forms.backends import BackendForm
from apps.clusters.registry.connection_test import ConnectionReport, Discovered, DiscoveredBackend, ReportStep

STEP_WORDS = {
    "resolve": "Name resolution",
    "tcp": "TCP",
    "tls": "TLS",
    "authenticate": "Authentication",
    "privilege": "Privilege",
    "show": "SHOW",
    "pcp": "PCP",
    "numbering": "Backends numbered alike",
    "ssh_host": "SSH: host",
    "ssh_host_key": "SSH: host key",
    "ssh_account": "SSH: account",
    "ssh_script": "SSH: script",
    "ssh_dry_run": "SSH: pgpool parses it",
    "delivery": "Delivery of pgpool.conf",
    "shared": "Watched once",
}
STATE_WORDS = {"ok": "ok", "warning": "warning", "failed": "failed", "skipped": "not tried"}
_WORST_FIRST = ("failed", "warning", "ok", "skipped")


@dataclass(frozen=True)
class ShownStep:
    title: str
    state: str
    word: str
    text: str
    fix: str


@dataclass(frozen=True)
class ShownTarget:
    name: str
    state: str
    steps: tuple[ShownStep, ...]

    @property
    def needs_look(self) -> bool:
        """Something failed, or can be mended."""
        return self.state == "failed" or any(step.fix for step in self.steps)

    @property
    def troubles(self) -> list[ShownStep]:
        return [step for step in self.steps if step.state in ("failed", "warning")]


@dataclass(frozen=True)
class ShownBackend:
    """found: None where the form comes back without a test, and only what was typed is known."""

    found: DiscoveredBackend | None
    form: BackendForm


@dataclass(frozen=True)
class ShownReport:
    is_ok: bool
    sentence: str
    evidence: str
    targets: tuple[ShownTarget, ...]
    backends: tuple[ShownBackend, ...]


def shown(report: ConnectionReport, typed: QueryDict) -> ShownReport:
    """typed: zones and addresses of backends stay as they were typed before the test."""
    found = report["discovered"]
    return ShownReport(
        is_ok=report["is_ok"],
        sentence=_sentence(report),
        evidence=_evidence(found) if found else "Nothing was changed, and nothing is stored yet.",
        targets=_targets(report["steps"]),
        backends=tuple(_backend(backend, typed) for backend in found["backends"]) if found else (),
    )


def _sentence(report: ConnectionReport) -> str:
    if not report["is_ok"]:
        failed = [step for step in report["steps"] if step["state"] == "failed"]
        if not failed:
            return "It cannot be registered so."
        name = STEP_WORDS.get(failed[0]["step"], failed[0]["step"])
        return f"{failed[0]['target']} fails at: {name}."
    backends = report["discovered"]["backends"] if report["discovered"] else []
    primaries = sum(backend["role"] == "primary" for backend in backends)
    pgpools = len({step["target"] for step in report["steps"] if step["step"] == "delivery"})
    found = (
        f"{_count(primaries, 'primary', 'primaries')} and {_count(len(backends) - primaries, 'standby', 'standbys')}"
    )
    return f"Found {found} behind {_count(pgpools, 'pgpool', 'pgpools')}."


def _count(number: int, one: str, several: str) -> str:
    return f"{number or 'no'} {one if number == 1 else several}"


def _evidence(found: Discovered) -> str:
    facts = [f"Pgpool-II {found['version']}"]
    if found["num_init_children"] is not None:
        facts.append(f"num_init_children {found['num_init_children']}")
    if found["delay_threshold"] is not None:
        threshold = found["delay_threshold"]
        facts.append(f"delay_threshold {threshold} bytes" if threshold else "delay_threshold 0: lag is ignored")
    facts.append(f"balances by {'statement' if found['statement_level'] else 'session'}")
    return f"{', '.join(facts)}. Nothing was changed, and nothing is stored yet."


def _targets(steps: list[ReportStep]) -> tuple[ShownTarget, ...]:
    by_target: dict[str, list[ReportStep]] = {}
    for step in steps:
        by_target.setdefault(step["target"], []).append(step)
    return tuple(
        ShownTarget(
            name=name,
            state=min((step["state"] for step in of_target), key=_WORST_FIRST.index),
            steps=tuple(_step(step) for step in of_target),
        )
        for name, of_target in by_target.items()
    )


def _step(step: ReportStep) -> ShownStep:
    title = STEP_WORDS.get(step["step"], step["step"])
    return ShownStep(title, step["state"], STATE_WORDS[step["state"]], step["text"], step["fix"])


def _backend(found: DiscoveredBackend, typed: QueryDict) -> ShownBackend:
    name = found["application_name"] or f"{found['hostname']}:{found['port']}"
    before = BackendForm(typed, node_id=found["node_id"])
    initial = {"az": before["az"].data or found["az"], "address": before["address"].data, "described": name}
    return ShownBackend(found, BackendForm(node_id=found["node_id"], initial=initial))
