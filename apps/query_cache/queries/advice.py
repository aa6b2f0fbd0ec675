"""What to change in a cluster's caches: the line, the file and the command of each pgpool, and what can be drafted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from apps.accounts.access import Caller
from apps.clusters.control import draft_rows
from apps.clusters.control.restart_ways import Way, way_of
from apps.clusters.control.table_survey import TableRow
from apps.clusters.domain import pgpool_conf
from apps.clusters.models import Cluster, PgpoolInstance, TableSurvey
from apps.clusters.queries.standing import standing
from apps.query_cache.domain import advice as cache_advice
from apps.query_cache.domain.advice import Advice, CacheSeen, Change, WrittenTable, needs_restart
from apps.query_cache.domain.cache_state import CacheState
from apps.query_cache.domain.risks import Kept
from apps.query_cache.domain.settings import settings_of
from apps.query_cache.queries.draft_wishes import leaving_out, running_of, wishes
from apps.query_cache.queries.shapes import AdviceAnswer, AdviceStep, DraftWish, Sizes
from apps.query_cache.queries.tables import kept_of

Delivery = PgpoolInstance.Delivery


def advice_answers(
    *,
    caller: Caller,
    cluster: Cluster,
    state: CacheState,
    instances: list[PgpoolInstance],
    measured: Mapping[str, Kept],
) -> list[AdviceAnswer]:
    """instances: as draft_wishes.instances_of has them. measured: of the latest calibration that wrote, by storage."""
    seen = [_seen(one) for one in instances]
    tables = _tables(cluster, state, instances)
    draft = draft_rows.find(caller, cluster)
    out: list[Change] = []
    if tables:
        out = leaving_out(instances, list(tables), standing(cluster=cluster, draft=draft))
    found = cache_advice.advice(state, seen, tables=list(tables.values()), leaving_out=out, measured=measured)
    names = [one.name for one in instances]
    no_draft = (
        "A pgpool of this cluster is observe only, so nothing can be drafted here." if cluster.is_observed else ""
    )
    return [
        _answer(one, instances, [] if no_draft else wishes(one.changes, names=names, draft=draft), no_draft)
        for one in found
    ]


def _seen(instance: PgpoolInstance) -> CacheSeen:
    latest = getattr(instance, "latest", None)
    sizes: Sizes | None = latest.cache_row if latest is not None else None
    return CacheSeen(
        name=instance.name,
        version=instance.version,
        settings=settings_of(running_of(instance)),
        filled=_share(sizes["used_bytes"] + sizes["fragment_bytes"], sizes["free_bytes"]) if sizes else None,
        entries_filled=_share(sizes["used_hash_entries"], sizes["hash_entries"] - sizes["used_hash_entries"])
        if sizes
        else None,
    )


def _share(used: int, free: int) -> float | None:
    return used / (used + free) if used + free > 0 else None


def _tables(
    cluster: Cluster, state: CacheState, instances: list[PgpoolInstance]
) -> dict[tuple[str, str], WrittenTable]:
    """Those to leave out, by schema and name, from the newest survey."""
    done = cluster.table_surveys.filter(state=TableSurvey.State.DONE, result__isnull=False).order_by("-pk")
    survey = done.defer("first_sample").first()
    rows: Sequence[TableRow] = () if survey is None or survey.result is None else survey.result["tables"]
    written = {
        (row["schema"], row["name"]): WrittenTable(f"{row['schema']}.{row['name']}", row["rows_per_s"] or 0.0)
        for row in rows
        if kept_of(row, instances) == "yes"
    }
    chosen = cache_advice.tables_to_leave_out(state, list(written.values()))
    return {place: table for place, table in written.items() if table in chosen}


def _answer(one: Advice, instances: Sequence[PgpoolInstance], drafts: list[DraftWish], no_draft: str) -> AdviceAnswer:
    by_name = {instance.name: instance for instance in instances}
    names, values = {change.parameter for change in one.changes}, {change.value for change in one.changes}
    return {
        "key": one.key,
        "sentence": one.sentence,
        "parameter": names.pop() if len(names) == 1 else "",
        "value": values.pop() if len(values) == 1 else None,
        "needs_restart": any(needs_restart(each.parameter, by_name[each.pgpool].version) for each in one.changes),
        "asks": one.asks,
        "steps": [_step(change, by_name[change.pgpool]) for change in one.changes],
        "drafts": drafts,
        "no_draft": no_draft,
    }


def _step(change: Change, instance: PgpoolInstance) -> AdviceStep:
    try:
        line = pgpool_conf.parse("").with_values({change.parameter: change.value}).text.strip()
    except pgpool_conf.UnwritableValue as error:
        line = str(error)
    return {
        "pgpool": change.pgpool,
        "parameter": change.parameter,
        "value": change.value,
        "line": line,
        "file": instance.delivery_path,
        "where": _where(instance),
        "command": _command(instance, is_restart=needs_restart(change.parameter, instance.version)),
    }


def _where(instance: PgpoolInstance) -> str:
    """Beside the path, or in its place."""
    if instance.delivery_kind == Delivery.SSH:
        return f"on {instance.ssh_host}"
    if instance.delivery_kind == Delivery.LOCAL:
        return "on the machine of Lifeguard's workers"
    return f"its pgpool.conf on {instance.host}; Lifeguard does not know the path"


def _command(instance: PgpoolInstance, *, is_restart: bool) -> str:
    if not is_restart:
        return "pcp_reload_config" if instance.pcp_port else "pgpool reload"
    way = way_of(instance)
    if way.way == Way.HAND:
        return f"a restart by hand, on {instance.host}: {way.why_by_hand}"
    return f"a restart by {way.says}"
