"""Changes of single pgpools as what can be drafted: once for all where they are alike, else one by one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from apps.clusters.control.draft_rows import Draft
from apps.clusters.models import Cluster, PgpoolInstance
from apps.clusters.queries.standing import Standing
from apps.query_cache.domain.advice import Change
from apps.query_cache.domain.settings import settings_of
from apps.query_cache.domain.table_lists import list_name, with_tables
from apps.query_cache.queries.shapes import DraftWish


def instances_of(cluster: Cluster) -> list[PgpoolInstance]:
    """With what they run, and what a way of restarting them needs."""
    found = PgpoolInstance.objects.filter(cluster=cluster).defer("pcp_password").order_by("name")
    return list(found.select_related("latest", "config", "cluster__organisation"))


def with_cache(instances: Iterable[PgpoolInstance]) -> list[PgpoolInstance]:
    return [one for one in instances if settings_of(running_of(one)).is_on]


def running_of(instance: PgpoolInstance) -> dict[str, str]:
    config = getattr(instance, "config", None)
    return {} if config is None else config.running


def leaving_out(
    instances: Sequence[PgpoolInstance], tables: Sequence[tuple[str, str]], stands: Standing
) -> list[Change]:
    """Of pgpools whose cache is on. Empty where the list of one of them is not known, or a table cannot be named."""
    found: list[Change] = []
    for one in with_cache(instances):
        parameter = list_name(one.version)
        now = stands.value(one.name, parameter, version=one.version)
        value = None if now is None else with_tables(now, tables)
        if value is None:
            return []
        if value != now:
            found.append(Change(one.name, parameter, value))
    return found


def wishes(changes: Sequence[Change], *, names: Sequence[str], draft: Draft) -> list[DraftWish]:
    """names: of all pgpools. What is drafted of a single one goes before what is drafted for all."""
    alike = {(one.parameter, one.value) for one in changes}
    is_own = any(one.parameter in values for one in changes for values in draft.per_instance.values())
    if len(alike) == 1 and len(changes) == len(names) and not is_own:
        [(parameter, value)] = alike
        return [{"pgpool": None, "parameter": parameter, "value": value}]
    return [{"pgpool": one.pgpool, "parameter": one.parameter, "value": one.value} for one in changes]
