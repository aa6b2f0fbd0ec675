"""Wished-for parameters held against every pgpool's configuration as it was seen latest; nothing is touched."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypedDict

from apps.clusters.control.deliveries import delivery_of
from apps.clusters.control.verified_files import measured_against
from apps.clusters.domain import pgpool_conf, validation
from apps.clusters.domain.cluster_settings import check_connections
from apps.clusters.domain.file_check import Surroundings
from apps.clusters.domain.findings import Finding, Severity
from apps.clusters.domain.parameters import catalogue
from apps.clusters.domain.parameters.catalogue import Catalogue
from apps.clusters.domain.validation import Wish
from apps.clusters.models import BackendLatest, Cluster, InstanceConfig
from apps.clusters.outside.delivery import FileUnreadable, PathRefused, UnknownDelivery, WritesForbidden

_RANK = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.NOTE: 2}


class FindingAnswer(TypedDict):
    """suggestion: what would be right, null where nothing has to change. line: in the file, null without one."""

    parameter: str
    severity: str
    message: str
    suggestion: str | None
    line: int | None


class ValidationAnswer(TypedDict):
    """ok: whether nothing is an error. effects: name -> restart, reload or session, for the names that are known."""

    ok: bool
    findings: list[FindingAnswer]
    effects: dict[str, str]


@dataclass(frozen=True)
class PgpoolFile:
    """One pgpool, its version and the pgpool.conf that parameters would change; None where it is not known.

    verified: the file that was verified there latest, else the first that was found.
    """

    name: str
    version: str
    text: str | None
    verified: str | None = None


def validation_answer(
    *, cluster: Cluster, raw: object, may_run_programs: bool, is_live: bool = False
) -> ValidationAnswer:
    """raw: parameters as JSON delivers them. is_live: held against the files as they stand now."""
    wish, unreadable = validation.read_wish(raw)
    files = files_now(cluster=cluster) if is_live else files_seen(cluster=cluster)
    found = [*unreadable, *findings(cluster=cluster, wish=wish, files=files, may_run_programs=may_run_programs)]
    return {
        "ok": all(finding.severity is not Severity.ERROR for finding in found),
        "findings": [as_answer(finding) for finding in found],
        "effects": _effects(wish, files),
    }


def findings(
    *, cluster: Cluster, wish: Wish, files: Sequence[PgpoolFile], may_run_programs: bool
) -> tuple[Finding, ...]:
    """What is to be said about these parameters on these pgpools, worst first; of whom, where not of all."""
    node_ids = frozenset(cluster.backends.values_list("node_id", flat=True))
    limits = connection_limits(cluster=cluster)
    said: dict[Finding, list[str]] = {}
    for file in files:
        surroundings = Surroundings(_catalogue(file), node_ids, limits)
        for finding in validation.check_wish(
            wish,
            surroundings,
            base=file.text,
            verified=None if file.verified == file.text else file.verified,
            may_run_programs=may_run_programs,
        ):
            said.setdefault(finding, []).append(file.name)
    merged = [_named(finding, names, len(files)) for finding, names in said.items()]
    merged += [together] if (together := check_connections(_changed(wish, files), limits)) is not None else []
    return tuple(sorted(merged, key=lambda finding: _RANK[finding.severity]))


def _changed(wish: Wish, files: Sequence[PgpoolFile]) -> dict[str, tuple[pgpool_conf.PgpoolConf, Catalogue]]:
    """The files that would come of it, where that is known."""
    texts = {
        file: None if file.text is None else validation.changed_text(wish, file.text, _catalogue(file))
        for file in files
    }
    return {file.name: (pgpool_conf.parse(text), _catalogue(file)) for file, text in texts.items() if text is not None}


def files_seen(*, cluster: Cluster) -> list[PgpoolFile]:
    """Every pgpool of the cluster with its file as it was seen latest."""
    configs = InstanceConfig.objects.filter(instance__cluster=cluster).exclude(file_sha256="")
    texts = {config.pk: config.file_text for config in configs}
    instances = list(cluster.instances.order_by("name", "pk"))
    verified = {pk: each.text for pk, each in measured_against(instances).items()}
    return [PgpoolFile(each.name, each.version, texts.get(each.pk), verified.get(each.pk)) for each in instances]


def files_now(*, cluster: Cluster) -> list[PgpoolFile]:
    """The same, read now; a file that cannot be read now counts as it was seen latest."""
    seen = {file.name: file for file in files_seen(cluster=cluster)}
    for instance in cluster.instances.select_related("cluster__organisation"):
        try:
            text = delivery_of(instance).read().text
        except (FileUnreadable, PathRefused, UnknownDelivery, WritesForbidden):
            continue
        seen[instance.name] = replace(seen[instance.name], text=text)
    return list(seen.values())


def connection_limits(*, cluster: Cluster) -> Mapping[int, int]:
    """node_id -> sessions that the backend lets others than superusers open; backends that never said are missing."""
    rows = BackendLatest.objects.filter(backend__cluster=cluster, connection_limit__isnull=False)
    return {node_id: limit for node_id, limit in rows.values_list("backend__node_id", "connection_limit") if limit}


def as_answer(finding: Finding) -> FindingAnswer:
    return {
        "parameter": finding.parameter,
        "severity": finding.severity.value,
        "message": finding.message,
        "suggestion": finding.suggestion,
        "line": finding.line,
    }


def _catalogue(file: PgpoolFile) -> Catalogue:
    return catalogue.for_version(file.version or None)


def _effects(wish: Wish, files: Sequence[PgpoolFile]) -> dict[str, str]:
    found: dict[str, str] = {}
    for file in files:
        found = {**validation.effects(wish, _catalogue(file)), **found}
    return found


def _named(finding: Finding, names: Sequence[str], count: int) -> Finding:
    return finding if len(names) == count else replace(finding, message=f"{', '.join(names)}: {finding.message}")
