"""A comparison is asked for, made of runs that are there, or stopped."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.http import Http404

from apps.accounts import audit
from apps.accounts.access import Caller
from apps.accounts.roles import Role
from apps.benchmarks.control import comparison_rows, runs
from apps.benchmarks.control.comparison_rows import Plan, State, is_measured
from apps.benchmarks.control.runs import RunRefused
from apps.benchmarks.domain import address_words, comparison_plan, replication_words, run_wish, weight_words
from apps.benchmarks.domain.comparison_plan import OnAxis, PlanRefused
from apps.benchmarks.domain.run_wish import Wish, WishRefused
from apps.benchmarks.models import BenchmarkComparison, BenchmarkRun, ComparisonRun
from apps.benchmarks.queries import targets
from apps.clusters.control import writes
from apps.clusters.models import Cluster

MOST_QUEUED = 1000
LONGEST_NAME = 200
MOST_PICKED = 200


def request(
    *,
    caller: Caller,
    cluster: Cluster,
    arms: Sequence[Mapping[str, Any]],
    repetitions: int,
    baseline: int = 0,
    name: str = "",
    over: str = "",
    margin_percent: float = 5.0,
) -> BenchmarkComparison:
    """Queue every run of it. arms: what each is asked to be, as a run, with label and x where wanted.

    over: what a sweep varies: clients, pgpools, parameters.NAME, or x for what each arm names itself.
    Raises PlanRefused, WishRefused (field: arms.N.…), RunRefused, or writes.NotAllowed; nothing is stored then.
    """
    caller.require(Role.OPERATOR)
    plan = planned(
        cluster=cluster, arms=arms, repetitions=repetitions, baseline=baseline, name=name, over=over,
        margin_percent=margin_percent,
    )  # fmt: skip
    with transaction.atomic():
        comparison = comparison_rows.make(plan, by=caller.user, by_name=caller.user.shown_name)
        told = {"arms": [arm["label"] for arm in comparison.arms], "repetitions": repetitions}
        _record(caller, comparison, "requested", told)
    return comparison


def planned(
    *,
    cluster: Cluster,
    arms: Sequence[Mapping[str, Any]],
    repetitions: int,
    baseline: int = 0,
    name: str = "",
    over: str = "",
    margin_percent: float = 5.0,
) -> Plan:
    """As request, held against the cluster as it is now; nothing is stored. Raises what request raises."""
    access = runs.access_of(cluster)
    writes.refuse_unless_allowed(cluster)
    labels = comparison_plan.labelled(arms)
    comparison_plan.refuse_too_many(len(arms), repetitions)
    comparison_plan.refuse_margin(margin_percent)
    _refuse_unknown_baseline(baseline, len(arms))
    offered, limits = targets.offered(cluster), targets.limits_of(cluster, access)
    wishes = [_wish(position, arm, offered=offered, limits=limits) for position, arm in enumerate(arms)]
    _refuse_the_same(arms, wishes)
    of_weights = _weights_of(cluster, over)
    xs = [
        comparison_plan.place(over, position, _on_axis(arm, wishes[position], of_weights))
        for position, arm in enumerate(arms)
    ]
    comparison_plan.refuse_twice(over, xs)
    if BenchmarkRun.objects.filter(cluster=cluster, state=BenchmarkRun.State.QUEUED).count() >= MOST_QUEUED:
        raise RunRefused(f"{MOST_QUEUED} runs of {cluster.name} are queued already. Wait for some, or stop them.")
    return Plan(
        cluster=cluster,
        name=(name.strip() or f"{len(arms)} arms: {', '.join(labels)}")[:LONGEST_NAME],
        wishes=tuple(wishes),
        labels=tuple(labels),
        xs=tuple(xs),
        baseline=baseline,
        repetitions=repetitions,
        over=over,
        margin_percent=margin_percent,
        queue=access.queue,
    )


def of_runs(
    *,
    caller: Caller,
    run_ids: Sequence[int],
    now: datetime,
    baseline: int = 0,
    name: str = "",
    over: str = "",
    margin_percent: float = 5.0,
) -> BenchmarkComparison:
    """One of runs that are there: those that were asked to be the same make one arm. Raises PlanRefused.

    Unless they were replicated differently, measured at different addresses, or under different weights: those are
    conditions like any other. over: as of request; x is named by no run.
    """
    caller.require(Role.OPERATOR)
    picked = _picked(caller, run_ids)
    told = _told(picked)
    groups: dict[str, list[BenchmarkRun]] = {}
    for run, one in zip(picked, told, strict=True):
        groups.setdefault(repr(one), []).append(run)
    arms = [_asked(group[0]) for group in groups.values()]
    if len(arms) < comparison_plan.FEWEST_ARMS:
        raise PlanRefused(
            "runs", [run.pk for run in picked], "were all asked to be the same: there is nothing to compare"
        )
    if len(arms) > comparison_plan.MOST_ARMS:
        raise PlanRefused("runs", len(arms), f"kinds of run; at most {comparison_plan.MOST_ARMS} are compared")
    labels = comparison_plan.labelled(list({repr(one): one for one in told}.values()))
    comparison_plan.refuse_margin(margin_percent)
    _refuse_unknown_baseline(baseline, len(arms))
    node_id = _node_of(picked[0].cluster, over)
    places = [_measured_at(group[0], node_id) for group in groups.values()]
    xs = [comparison_plan.place(over, position, each) for position, each in enumerate(places)]
    comparison_plan.refuse_twice(over, xs)
    with transaction.atomic():
        comparison = BenchmarkComparison.objects.create(
            cluster=picked[0].cluster,
            name=name.strip() or f"Runs picked: {', '.join(labels)}"[:200],
            arms=[{**arm, "label": label, "x": x} for arm, label, x in zip(arms, labels, xs, strict=True)],
            over=over,
            baseline=baseline,
            repetitions=0,
            margin_percent=margin_percent,
            order_seed=0,
            state=State.DONE,
            finished_at=now,
            requested_by=caller.user,
            requested_by_name=caller.user.shown_name,
        )
        ComparisonRun.objects.bulk_create(
            ComparisonRun(comparison=comparison, run=run, arm=arm, block=block)
            for arm, group in enumerate(groups.values())
            for block, run in enumerate(group, start=1)
        )
        _record(caller, comparison, "picked", {"arms": labels, "runs": [run.pk for run in picked]})
    return comparison


def stop(*, caller: Caller, comparison: BenchmarkComparison, now: datetime) -> BenchmarkComparison:
    """What was measured until then stays. Raises RunRefused."""
    caller.require(Role.OPERATOR)
    with transaction.atomic():
        current = (
            BenchmarkComparison.objects.select_for_update(of=("self",))
            .select_related("cluster")
            .filter(pk=comparison.pk)
            .first()
        )
        if current is None:
            raise Http404(f"Comparison {comparison.pk} was removed with its cluster.")
        if current.state != State.UNDER_WAY:
            raise RunRefused(f"Comparison #{current.pk} is {current.get_state_display()}: there is nothing to stop.")
        comparison_rows.end_by_hand(current, reason=f"stopped by {caller.user.shown_name}", now=now)
        _record(caller, current, "stopped", {"state": current.state})
    return current


def _wish(position: int, arm: Mapping[str, Any], **held_against: Any) -> Wish:
    asked = {key: value for key, value in arm.items() if key not in {"label", "x"}}
    try:
        wanted = run_wish.wish(**asked, **held_against)
        if wanted.workload.needs_scratch:
            raise WishRefused("workload", wanted.workload.key, "has no rate of its own that could be compared")
        return wanted
    except WishRefused as error:
        raise WishRefused(f"arms.{position}.{error.field}", error.value, error.expected) from error


def _node_of(cluster: Cluster, over: str) -> int | None:
    """Of the backend whose weight is swept; None where none is. Raises PlanRefused for one that is not there."""
    kind, _, name = over.partition(".")
    if kind != comparison_plan.WEIGHT:
        return None
    nodes = {backend.shown_name: backend.node_id for backend in cluster.backends.order_by("node_id")}
    if name not in nodes:
        raise PlanRefused("over", over, f"names no backend of {cluster.name}; it is weight. and {', '.join(nodes)}")
    return nodes[name]


def _on_axis(arm: Mapping[str, Any], wanted: Wish, percent_at: Callable[[Wish], float | None]) -> OnAxis:
    pgpools = sum(server.is_pgpool for server in wanted.topology.servers)
    return OnAxis(wanted.clients, pgpools, wanted.parameters, x=arm.get("x"), weight_percent=percent_at(wanted))


def _weights_of(cluster: Cluster, over: str) -> Callable[[Wish], float | None]:
    """The swept backend's share of the weights at the pgpools of a wish, as they run now."""
    if (node_id := _node_of(cluster, over)) is None:
        return lambda wanted: None
    shown = dict(cluster.instances.values_list("name", "shown_weights"))
    return lambda wanted: weight_words.percent(
        [shown[server.name] for server in wanted.topology.servers if server.is_pgpool and server.name in shown], node_id
    )


def _measured_at(run: BenchmarkRun, node_id: int | None) -> OnAxis:
    weights = weight_words.of_run(run.environment)
    pgpools = len(run.environment.get("topology", {}).get("servers") or ()) if weights else 0
    percent = None if node_id is None else weight_words.percent(weights.values(), node_id)
    return OnAxis(run.clients, pgpools, run.parameters, weight_percent=percent)


def _refuse_the_same(arms: Sequence[Mapping[str, Any]], wishes: Sequence[Wish]) -> None:
    """A against A is measured where somebody names both."""
    for position, wanted in enumerate(wishes):
        first = wishes.index(wanted)
        if first < position and not (arms[first].get("label") and arms[position].get("label")):
            expected = f"is missing: it asks for the same as arm {first}; change one, or give both a name"
            raise PlanRefused(f"arms.{position}.label", arms[position].get("label"), expected)


def _refuse_unknown_baseline(baseline: int, arms: int) -> None:
    if not 0 <= baseline < arms:
        raise PlanRefused("baseline", baseline, f"is no arm; they are counted from 0 to {arms - 1}")


def _picked(caller: Caller, run_ids: Sequence[int]) -> list[BenchmarkRun]:
    if not 2 <= len(run_ids) <= MOST_PICKED:
        raise PlanRefused("runs", len(run_ids), f"runs; pick 2 to {MOST_PICKED}")
    found = BenchmarkRun.objects.select_related("cluster").filter(cluster__organisation=caller.organisation)
    by_id = found.in_bulk(run_ids)
    for run_id in run_ids:
        if run_id not in by_id:
            raise PlanRefused("runs", run_id, f"is no run of {caller.organisation.name}")
        if not is_measured(by_id[run_id]):
            state = by_id[run_id].get_state_display()
            raise PlanRefused("runs", run_id, f"is {state}: it has no figure of its whole time")
    picked = [by_id[run_id] for run_id in dict.fromkeys(run_ids)]
    for run in picked:
        if run.cluster_id != picked[0].cluster_id:
            expected = f"was run on {run.cluster.name}, and #{picked[0].pk} on {picked[0].cluster.name}"
            raise PlanRefused("runs", run.pk, f"{expected}; pick runs of one cluster")
    return picked


def _asked(run: BenchmarkRun) -> dict[str, Any]:
    return {
        "workload": run.workload,
        "topology": run.topology,
        "clients": run.clients,
        "threads": run.threads,
        "duration_s": run.duration_s,
        "warm_up_s": run.warm_up_s,
        "parameters": run.parameters,
    }


def _told(picked: Sequence[BenchmarkRun]) -> list[dict[str, Any]]:
    """What each was asked to be, and what it was measured under."""
    pairs = [(run.topology, run.environment) for run in picked]
    addresses, weights = address_words.conditions(pairs), weight_words.conditions(pairs)
    return [
        {**_asked(run), "address": at, "weights": by, **replication_words.condition(run.environment, run.topology)}
        for run, at, by in zip(picked, addresses, weights, strict=True)
    ]


def _record(caller: Caller, comparison: BenchmarkComparison, what: str, after: dict[str, object]) -> None:
    audit.record(
        caller=caller,
        action=f"benchmarks.comparison.{what}",
        target_type="benchmark_comparison",
        target_id=comparison.pk,
        target_name=str(comparison.cluster),
        after=after,
    )
