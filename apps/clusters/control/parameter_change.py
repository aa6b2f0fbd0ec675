"""Wanted parameters, and weights with them, become a revision of every pgpool.conf and a rollout of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypedDict

from django.db import transaction

from apps.accounts.access import Caller
from apps.accounts.roles import Role
from apps.clusters.control import (
    as_registered,
    live_configs,
    live_edits,
    own_weights,
    published,
    revisions,
    rollout_rows,
    weight_change,
)
from apps.clusters.control.own_weights import Wanted
from apps.clusters.control.revisions import LiveConfig, NewFile
from apps.clusters.control.rollout_rows import RolloutRunning
from apps.clusters.control.weight_change import KNOWN, PreviewLine, changed_lines, preview_lines
from apps.clusters.domain import pgpool_conf, validation
from apps.clusters.domain.cluster_settings import check_connections
from apps.clusters.domain.file_check import Surroundings
from apps.clusters.domain.findings import Finding, Severity, error
from apps.clusters.domain.parameter_wishes import Wishes, read_wishes
from apps.clusters.domain.parameters import catalogue
from apps.clusters.domain.rollout_waves import Plan, parse_plan
from apps.clusters.models import Cluster, ConfigRevision, PgpoolInstance, Rollout
from apps.clusters.queries.rollout_plans import PlanSaid, plan_said
from apps.clusters.queries.unanswered import unanswered
from apps.clusters.queries.validation import connection_limits


class InstanceFinding(TypedDict):
    """What is to be said about a parameter. instance: the pgpool, null for all; suggestion: what would be right."""

    instance: str | None
    parameter: str
    severity: str
    message: str
    suggestion: str | None
    line: int | None


class InstanceChange(TypedDict):
    """What a change would do to one pgpool.conf; lines: the diff, secrets masked. absent, parsed_by: as
    InstancePreview.
    """

    instance: str
    path: str
    changed_lines: int
    lines: list[PreviewLine]
    absent: str
    parsed_by: str


class ChangePreview(TypedDict):
    """ok: whether it can be rolled out. effects: parameter -> reload, session or restart: what brings it in.

    unanswered: a sentence for each pgpool that did not answer the latest look.
    """

    ok: bool
    summary: str
    plan: PlanSaid
    findings: list[InstanceFinding]
    effects: dict[str, str]
    unanswered: list[str]
    instances: list[InstanceChange]


class ParametersRefused(ValueError):
    """The resulting files would hold what pgpool refuses, or takes for something else."""

    def __init__(self, findings: Sequence[InstanceFinding]) -> None:
        wrong = [_in_words(one) for one in findings if one["severity"] == Severity.ERROR]
        super().__init__("; ".join(dict.fromkeys(wrong)))
        self.findings = list(findings)


def _in_words(found: InstanceFinding) -> str:
    """What stands in a file with its pgpool, its line and what would be right; the person who asked knows the rest."""
    message, instance, line = found["message"], found["instance"], found["line"]
    if instance is None and line is None:
        return message
    at = "" if line is None or message.startswith("line ") else f"line {line}: "
    expected = f"; expected {found['suggestion']}" if found["suggestion"] else ""
    return (f"{instance}: " if instance else "") + at + message + expected


@dataclass(frozen=True)
class Wish:
    """What somebody asks for, as it was sent. base: as weight_change.request_weights has it.

    weights: for all pgpools; weights_per_instance: for single ones, which goes first; others keep theirs.
    """

    parameters: object = None
    per_instance: object = None
    weights: object = None
    weights_per_instance: object = None
    base: str = KNOWN


@dataclass(frozen=True)
class _Understood:
    """A wish whose shape is right."""

    instances: Sequence[PgpoolInstance]
    wishes: Wishes
    weights: Wanted | None
    base: str
    may_run_programs: bool


@dataclass(frozen=True)
class _Change:
    """One pgpool.conf as it would become; file None where the findings forbid it. verified: as in live_edits."""

    config: LiveConfig
    file: NewFile | None
    findings: tuple[Finding, ...]
    verified: str


def preview(*, caller: Caller, cluster: Cluster, wish: Wish, plan: object = None) -> ChangePreview:
    """What request_change would write, and what is to be said about it, without storing anything.

    Raises what it would, but RolloutRunning; wrong values are findings here.
    """
    understood = _understood(caller, cluster, wish)
    parsed = _plan(plan, understood)
    changes = _changes(cluster, understood, parsed)
    findings = [*_findings(changes), *_together(cluster, changes)]
    shown = [_shown(change) for change in changes]
    ok = not any(one["severity"] == Severity.ERROR for one in findings)
    return {
        "ok": ok,
        "summary": _summary(shown) if ok else "Nothing can be rolled out before the errors are mended.",
        "plan": plan_said(cluster, parsed, understood.instances),
        "findings": findings,
        "effects": _effects(understood),
        "unanswered": unanswered(cluster=cluster),
        "instances": shown,
    }


def request_change(
    *, caller: Caller, cluster: Cluster, wish: Wish, note: str = "", plan: object = None, now: datetime
) -> Rollout:
    """Store a revision with these values and a rollout of it; a worker starts it after the commit.

    Values that stand there already are read back all the same. Raises ParametersRefused (findings), WeightError (the
    field), and what weight_change.request_weights raises; nothing is stored then.
    """
    weight_change.check_note(note)
    try:
        with rollout_rows.one_at_a_time(cluster), transaction.atomic():
            rollout_rows.hold(cluster)
            understood = _understood(caller, cluster, wish)
            parsed = _plan(plan, understood)
            changes = _changes(cluster, understood, parsed)
            findings = _findings(changes)
            if any(one["severity"] == Severity.ERROR for one in findings):
                raise ParametersRefused(findings)
            live = [change.config for change in changes]
            return rollout_rows.create(
                caller=caller,
                cluster=cluster,
                revision=_store(caller, cluster, understood, changes, note=note.strip()),
                weights_before={one.instance.name: revisions.plain(revisions.weights_of(one.conf)) for one in live},
                plan=parsed,
                now=now,
            )
    except RolloutRunning:
        _understood(caller, cluster, wish)  # what will not do once that rollout has ended either is told now
        raise


def _understood(caller: Caller, cluster: Cluster, wish: Wish) -> _Understood:
    weight_change.check_base(wish.base)
    instances = revisions.writable_instances(cluster)
    wishes, wrong = read_wishes(wish.parameters, wish.per_instance, [instance.name for instance in instances])
    weights = None
    if wish.weights is not None or wish.weights_per_instance not in (None, {}):
        weights = own_weights.wanted_of_some(
            cluster, instances, weights=wish.weights, weights_per_instance=wish.weights_per_instance
        )
    elif not wishes.names:
        wrong = (*wrong, error("parameters", "nothing to change is named", 'at least one, as {"max_pool": "4"}'))
    if wrong:
        raise ParametersRefused([named(None, finding) for finding in wrong])
    return _Understood(instances, wishes, weights, wish.base, caller.may(Role.ADMIN))


def _plan(plan: object, understood: _Understood) -> Plan:
    return parse_plan(plan, [instance.name for instance in understood.instances])


def _changes(cluster: Cluster, understood: _Understood, plan: Plan) -> list[_Change]:
    live = live_configs.read(cluster, understood.instances, plan)
    weight_change.refuse_changed(cluster, live, base=understood.base)
    node_ids = set(cluster.backends.values_list("node_id", flat=True))
    limits = connection_limits(cluster=cluster)
    verified = live_edits.verified_texts(live)
    return [
        _change(
            config,
            understood,
            Surroundings(catalogue.for_version(config.instance.version), node_ids, limits),
            verified=verified.get(config.instance.pk, config.file.text),
        )
        for config in live
    ]


def _change(config: LiveConfig, understood: _Understood, surroundings: Surroundings, *, verified: str) -> _Change:
    instance = config.instance
    wish = understood.wishes.of(instance.name)
    weights = (understood.weights or {}).get(instance.name, {})
    base = revisions.with_weights(config.conf, weights).text
    found = validation.check_wish(
        wish,
        surroundings,
        base=base,
        verified=None if verified == config.file.text else verified,
        may_run_programs=understood.may_run_programs,
    )
    text = validation.changed_text(wish, base, surroundings.catalogue)
    if text is None or any(finding.severity is Severity.ERROR for finding in found):
        return _Change(config, None, found, verified)
    whole = live_edits.whole(config, text, {instance.pk: verified})
    return _Change(config, NewFile(instance=instance, text=whole, base=config.file), found, verified)


def _findings(changes: Sequence[_Change]) -> list[InstanceFinding]:
    """What is said of every pgpool alike is said once."""
    spoken: dict[Finding, list[str]] = {}
    for change in changes:
        for finding in change.findings:
            spoken.setdefault(finding, []).append(change.config.instance.name)
    found = []
    for finding, names in spoken.items():
        found += [named(None, finding)] if len(names) == len(changes) else [named(name, finding) for name in names]
    return found


def _together(cluster: Cluster, changes: Sequence[_Change]) -> list[InstanceFinding]:
    """What is to be said of all pgpools together."""
    confs = {
        change.config.instance.name: (
            pgpool_conf.parse(change.file.text),
            catalogue.for_version(change.config.instance.version),
        )
        for change in changes
        if change.file is not None
    }
    found = check_connections(confs, connection_limits(cluster=cluster))
    return [] if found is None else [named(None, found)]


def named(instance: str | None, finding: Finding) -> InstanceFinding:
    return {
        "instance": instance,
        "parameter": finding.parameter,
        "severity": finding.severity.value,
        "message": finding.message,
        "suggestion": finding.suggestion,
        "line": finding.line,
    }


def _store(
    caller: Caller, cluster: Cluster, understood: _Understood, changes: Sequence[_Change], *, note: str
) -> ConfigRevision:
    live = [change.config for change in changes]
    as_registered.store(caller=caller, cluster=cluster, live=live)
    if weight_change.is_news(cluster, live):
        weight_change.store_live(caller, cluster, live, note="")
    return revisions.store(
        cluster=cluster,
        origin=ConfigRevision.Origin.EDIT,
        note=note,
        author=caller.user,
        files=[change.file for change in changes if change.file is not None],
        asked=understood.wishes.names,
        verified={change.config.instance.pk: change.verified for change in changes},
    )


def _effects(understood: _Understood) -> dict[str, str]:
    found: dict[str, str] = {}
    for instance in understood.instances:
        found |= validation.effects(understood.wishes.of(instance.name), catalogue.for_version(instance.version))
    return dict(sorted(found.items()))


def _shown(change: _Change) -> InstanceChange:
    """No lines where nothing can be written."""
    before = change.config.file.text
    lines = preview_lines(before, before if change.file is None else change.file.text)
    return {
        "instance": change.config.instance.name,
        "path": change.config.instance.delivery_path,
        "changed_lines": changed_lines(lines),
        "lines": lines,
        "absent": change.config.absent,
        "parsed_by": published.parsed_elsewhere(change.config.instance),
    }


def _summary(shown: Sequence[InstanceChange]) -> str:
    changed = sum(each["changed_lines"] > 0 for each in shown)
    if not changed:
        return "Every pgpool.conf says so already: the rollout reloads and reads these values back."
    return f"{changed} of {len(shown)} pgpool.conf files change; a backup of each is kept."
