"""The configuration of a cluster's pgpools as it was seen latest, parameter by parameter; no secret leaves here."""

from collections.abc import Sequence
from datetime import datetime
from typing import TypedDict

from apps.clusters.domain import configuration, pgpool_conf
from apps.clusters.domain.conf_secrets import is_secret, mask_known
from apps.clusters.domain.configuration import Row, SeenPgpool, Value
from apps.clusters.domain.out_of_reach import runs_programs, why_out_of_reach
from apps.clusters.domain.parameters.in_words import in_words
from apps.clusters.domain.parameters.parameter import units
from apps.clusters.models import Cluster, InstanceConfig, PgpoolInstance

SHOWN = ("all", "changed", "differs", "waiting")


class PgpoolSeen(TypedDict):
    """A pgpool and when its configuration was seen; reason: why its file, or what it runs, is not known."""

    name: str
    version: str
    file_seen_at: datetime | None
    running_seen_at: datetime | None
    reason: str


class ValueAnswer(TypedDict):
    """One parameter at one pgpool; file: null where no line names it or the file is not known.

    running: as PGPOOL SHOW prints it, null where it is not known. effective: the value of the file, else the default.
    in_words: with its unit. is_waiting: the pgpool runs another value than its file says; null if that is not known.
    """

    pgpool: str
    file: str | None
    running: str | None
    effective: str | None
    in_words: str
    is_waiting: bool | None


class ParameterAnswer(TypedDict):
    """A parameter; context: restart, reload or session, null for a name that no pgpool here knows."""

    name: str
    group: str
    group_title: str
    kind: str | None
    context: str | None
    unit: str | None
    units: list[str]
    default: str | None
    default_in_words: str
    choices: list[str]
    minimum: float | None
    maximum: float | None
    meaning: str
    values: list[ValueAnswer]
    differs: bool
    is_changed: bool
    is_secret: bool
    out_of_reach: str | None
    needs_admin: bool


class ConfigurationAnswer(TypedDict):
    """Every parameter, in the order of its group. next is always null: they come on one page."""

    results: list[ParameterAnswer]
    next: str | None
    pgpools: list[PgpoolSeen]


def configuration_answer(*, cluster: Cluster) -> ConfigurationAnswer:
    instances = list(cluster.instances.order_by("name", "pk"))
    configs = {config.pk: config for config in InstanceConfig.objects.filter(instance__in=instances)}
    looks = [_look(instance, configs.get(instance.pk)) for instance in instances]
    seen = [pgpool for pgpool, _ in looks]
    node_ids = list(cluster.backends.values_list("node_id", flat=True))
    titles = configuration.titles(seen)
    rows = configuration.rows(seen, node_ids=node_ids)
    return {
        "results": [_answer(row, titles[row.group]) for row in rows],
        "next": None,
        "pgpools": [when for _, when in looks],
    }


def _look(instance: PgpoolInstance, config: InstanceConfig | None) -> tuple[SeenPgpool, PgpoolSeen]:
    text = config.file_text if config is not None and config.file_sha256 else None
    file, reason = _parsed(text)
    if instance.delivery_kind == PgpoolInstance.Delivery.OBSERVE:
        reason = "Observed only: its file is not read, so these are the values that it runs."
    elif text is None:
        reason = (config.reason if config is not None else "") or "Its file was not read yet."
    running = config.running if config is not None else {}
    when: PgpoolSeen = {
        "name": instance.name,
        "version": instance.version,
        "file_seen_at": config.looked_at if config is not None and file is not None else None,
        "running_seen_at": config.running_at if config is not None else None,
        "reason": reason,
    }
    return SeenPgpool(instance.name, instance.version, file, running), when


def _parsed(text: str | None) -> tuple[dict[str, str] | None, str]:
    if text is None:
        return None, ""
    try:
        return pgpool_conf.parse(text).values(), ""
    except (pgpool_conf.ConfigSyntaxError, pgpool_conf.IncludeUnsupported) as error:
        return None, f"Its file cannot be read: {error}"


def _answer(row: Row, title: str) -> ParameterAnswer:
    parameter = row.parameter
    secret = is_secret(row.name)
    default = parameter.default if parameter is not None else None
    return {
        "name": row.name,
        "group": row.group,
        "group_title": title,
        "kind": parameter.kind.value if parameter is not None else None,
        "context": parameter.context.value if parameter is not None else None,
        "unit": parameter.unit if parameter is not None else None,
        "units": list(units(parameter)) if parameter is not None else [],
        "default": default,
        "default_in_words": in_words(parameter, default) if parameter is not None and default is not None else "",
        "choices": list(parameter.choices) if parameter is not None else [],
        "minimum": parameter.minimum if parameter is not None else None,
        "maximum": parameter.maximum if parameter is not None else None,
        "meaning": parameter.meaning if parameter is not None else "No pgpool here knows this name: it has no effect.",
        "values": [_value_answer(row, value, secret=secret) for value in row.values],
        "differs": row.differs,
        "is_changed": row.is_changed,
        "is_secret": secret,
        "out_of_reach": why_out_of_reach(row.name),
        "needs_admin": runs_programs(row.name),
    }


def _value_answer(row: Row, value: Value, *, secret: bool) -> ValueAnswer:
    words = ""
    if row.parameter is not None and value.effective is not None and not secret:
        words = in_words(row.parameter, value.effective)
    return {
        "pgpool": value.pgpool,
        "file": mask_known(row.name, value.file),
        "running": mask_known(row.name, value.running),
        "effective": mask_known(row.name, value.effective),
        "in_words": words,
        "is_waiting": value.is_waiting,
    }


def uniform(answer: ParameterAnswer) -> Sequence[ValueAnswer]:
    """The values to show: one where every pgpool that is known has the same, else each."""
    known = [value for value in answer["values"] if value["effective"] is not None]
    is_same = not answer["differs"] and len(known) == len(answer["values"])
    return known[:1] if is_same and not any(value["is_waiting"] for value in known) else answer["values"]


def chosen(answers: Sequence[ParameterAnswer], *, words: str, group: str, show: str) -> list[ParameterAnswer]:
    """Those of a group (any, if empty), that differ as asked, and that have all of these words somewhere."""
    kept = {"changed": lambda one: one["is_changed"], "differs": lambda one: one["differs"], "waiting": is_waiting}.get(
        show
    )
    wanted = words.lower().split()
    return [
        one
        for one in answers
        if (not group or one["group"] == group)
        and (kept is None or kept(one))
        and all(word in haystack(one) for word in wanted)
    ]


def is_waiting(answer: ParameterAnswer) -> bool:
    return any(value["is_waiting"] for value in answer["values"])


def haystack(answer: ParameterAnswer) -> str:
    """What is searched, in small letters: name, group, meaning, values."""
    values = {value["effective"] or "" for value in answer["values"]}
    parts = (answer["name"], answer["group_title"], answer["meaning"], answer["context"] or "", *sorted(values))
    return " ".join(parts).lower()
