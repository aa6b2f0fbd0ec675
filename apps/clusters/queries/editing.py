"""The weights as they are, and what the page that edits them needs."""

from collections.abc import Mapping
from datetime import datetime
from typing import TypedDict

from apps.accounts.access import Caller
from apps.accounts.members import who_may
from apps.accounts.roles import Role
from apps.clusters.control import whole_revisions, writes
from apps.clusters.domain.weights import WeightError, as_integers, shares
from apps.clusters.models import Cluster, ConfigRevision, InstanceLatest, NodeLatest, PgpoolInstance, Rollout
from apps.clusters.queries.confirmed_weights import just_read_back, revision_in_force
from apps.clusters.queries.overview import BackendFigures, Overview
from apps.clusters.queries.unanswered import outlook

# SHOW POOL_NODES prints a share with six decimals.
_SHARE_DIGITS = 0.000002


class WeightsAnswer(TypedDict):
    """Weights per backend; `weights` is null where the pgpools differ, `per_instance` holds each."""

    weights: dict[str, int] | None
    shares: dict[str, float] | None
    per_instance: dict[str, dict[str, int]]
    is_uniform: bool
    is_known: bool
    read_at: datetime | None
    revision: int | None


class EditorRow(TypedDict):
    node_id: int
    name: str
    role: str
    az: str
    status: str
    share: float
    weight: int
    percent: str
    note: str
    is_warning: bool


class Editor(TypedDict):
    rows: list[EditorRow]
    weights: WeightsAnswer
    previous: dict[str, float] | None
    blockers: list[str]
    warnings: list[str]
    running: int | None


def weights_answer(*, cluster: Cluster, now: datetime) -> WeightsAnswer:
    """The weights that every pgpool showed latest. SHOW POOL_NODES gives shares; the integers are those of PGPOOL SHOW
    or of the latest revision where they are of that ratio, else the smallest that are.
    """
    seen = {**_seen_shares(cluster), **just_read_back(cluster=cluster, now=now)}
    revision = revision_in_force(cluster=cluster)
    instances = list(cluster.instances.defer("pcp_password"))
    written = whole_revisions.weights_of(revision, instances) if revision else {}
    shown = {instance.name: instance.shown_weights for instance in instances}
    agrees = bool(revision)
    per_instance: dict[str, dict[str, int]] = {}
    for name, by_node in seen.items():
        integers = _same_ratio(written.get(name), by_node)
        agrees = agrees and integers is not None
        per_instance[name] = _same_ratio(shown.get(name), by_node) or integers or _integers(by_node)
    distinct = [_rounded(by_node) for by_node in seen.values()]
    is_uniform = bool(distinct) and all(each == distinct[0] for each in distinct)
    first = next(iter(per_instance.values()), None)
    read_at = NodeLatest.objects.filter(instance__cluster=cluster).order_by("seen_at").values_list("seen_at", flat=True)
    return {
        "weights": first if is_uniform else None,
        "shares": {str(n): s for n, s in next(iter(seen.values())).items()} if is_uniform else None,
        "per_instance": per_instance,
        "is_uniform": is_uniform,
        "is_known": bool(seen),
        "read_at": read_at.first(),
        "revision": revision.number if revision and agrees else None,
    }


def editor(
    *, caller: Caller, cluster: Cluster, seen: Overview, now: datetime, wanted: Mapping[int, float] | None = None
) -> Editor:
    """wanted: node_id -> share that the fields begin with, where that is not the present one."""
    weights = weights_answer(cluster=cluster, now=now)
    running = Rollout.objects.filter(cluster=cluster, state__in=Rollout.ACTIVE).values_list("pk", flat=True).first()
    return {
        "rows": [_row(backend, weights, wanted or {}) for backend in seen["backends"]],
        "weights": weights,
        "previous": _previous(cluster, weights),
        "blockers": _blockers(caller, cluster, weights, seen, running),
        "warnings": [*outlook(cluster=cluster), *_warnings(seen)],
        "running": running,
    }


def _seen_shares(cluster: Cluster) -> dict[str, dict[int, float]]:
    """Instance name -> node_id -> share of new sessions. An instance that shows no weights is left out."""
    found: dict[str, dict[int, float]] = {}
    rows = NodeLatest.objects.filter(instance__cluster=cluster, lb_weight__isnull=False)
    for name, node_id, share in rows.order_by("instance_id", "node_id").values_list(
        "instance__name", "node_id", "lb_weight"
    ):
        if share is not None:
            found.setdefault(name, {})[node_id] = share
    return found


def _same_ratio(weights: Mapping[str, int] | None, seen: Mapping[int, float]) -> dict[str, int] | None:
    """These weights if the pgpool runs this ratio, else None."""
    try:
        wanted = shares({int(node_id): weight for node_id, weight in (weights or {}).items()})
    except WeightError:
        return None
    if wanted.keys() != seen.keys() or any(abs(wanted[n] - seen[n]) > _SHARE_DIGITS for n in seen):
        return None
    return dict(weights or {})


def _integers(seen: Mapping[int, float]) -> dict[str, int]:
    return {str(node_id): weight for node_id, weight in as_integers(_rounded(seen)).items()}


def _rounded(seen: Mapping[int, float]) -> dict[int, float]:
    return {node_id: round(share, 4) for node_id, share in seen.items()}


def _row(backend: BackendFigures, weights: WeightsAnswer, wanted: Mapping[int, float]) -> EditorRow:
    node = str(backend["node_id"])
    share = (weights["shares"] or {}).get(node, backend["weight_share"] or 0.0)
    return {
        "node_id": backend["node_id"],
        "name": backend["name"],
        "role": backend["role"],
        "az": backend["az"],
        "status": backend["status"],
        "share": share,
        # Where the pgpools differ, there is no weight of all: their mean, to go on from.
        "weight": round(share * 1000) if weights["weights"] is None else weights["weights"].get(node, 0),
        "percent": f"{wanted.get(backend['node_id'], share) * 100:.1f}".removesuffix(".0"),
        "note": _note(backend),
        "is_warning": backend["is_lagging"] or backend["status"] != "up",
    }


def _note(backend: BackendFigures) -> str:
    if backend["status"] != "up":
        return backend["status"]
    if backend["role"] == "primary":
        return "takes all writes"
    if backend["is_lagging"]:
        return "replay lag over delay_threshold: pgpool sends its reads elsewhere"
    if backend["replay_lag_s"] is not None:
        return f"{backend['replay_lag_s']:.1f} s behind"
    return backend["lag_reason"]


def _previous(cluster: Cluster, now: WeightsAnswer) -> dict[str, float] | None:
    """Shares of the latest revision that differs from what runs now and was the same on every pgpool."""
    instances = list(cluster.instances.defer("pcp_password"))
    for revision in ConfigRevision.objects.filter(cluster=cluster).order_by("-number")[:20]:
        written = list(whole_revisions.weights_of(revision, instances).values())
        if not written or any(each != written[0] for each in written) or not any(written[0].values()):
            continue
        found = shares({int(node_id): weight for node_id, weight in written[0].items()})
        current = now["shares"] or {}
        if any(abs(found.get(int(node_id), 0) - share) > _SHARE_DIGITS for node_id, share in current.items()):
            return {str(node_id): share for node_id, share in found.items()}
    return None


def _blockers(
    caller: Caller, cluster: Cluster, weights: WeightsAnswer, seen: Overview, running: int | None
) -> list[str]:
    """Why nothing can be applied now, in words; empty when it can."""
    found = []
    if not caller.may(Role.OPERATOR):
        able = ", ".join(who_may(organisation=caller.organisation, role=Role.OPERATOR))
        found.append(
            f"You have {caller.role} access to {cluster.name}; changing weights needs the role operator."
            f"{f' Ask {able}.' if able else ''} Here you can see what a change would do; nothing is sent."
        )
    observed = list(
        cluster.instances.filter(delivery_kind=PgpoolInstance.Delivery.OBSERVE)
        .order_by("pk")
        .values_list("name", flat=True)
    )
    if (refusal := writes.why_not(cluster)) is not None:
        found.append(refusal)
    elif observed:
        found.append(
            f"{', '.join(observed)}: observe only. Lifeguard never writes there; choose a delivery in Settings."
        )
    renumbered = [each for each in seen["instances"] if each["state"] == InstanceLatest.State.RENUMBERED]
    found += [f"{each['name']} {each['reason']}" for each in renumbered]
    if running is not None:
        found.append(f"Rollout #{running} is running. Wait for it or cancel it.")
    if not weights["is_known"]:
        found.append("No pgpool has shown its weights yet. Once one has, they are shown here.")
    return found


def _warnings(seen: Overview) -> list[str]:
    found = []
    for backend in seen["backends"]:
        if backend["status"] != "up":
            found.append(f"{backend['name']} is {backend['status']}: a weight there takes effect when it is back.")
        elif backend["is_lagging"]:
            found.append(
                f"{backend['name']} is behind by more than delay_threshold: past it pgpool sends its reads "
                "to the primary, or to a standby that keeps up where prefer_lower_delay_standby is on."
            )
    if seen["freshness"]["state"] == "stale":
        found.append("These figures are old. The live files are read afresh before anything is written.")
    return found
