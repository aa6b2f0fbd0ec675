"""The primary dies under pgpools that watch each other: one event, unbroken series, weights that follow the roles."""

import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.access import Caller
from apps.clusters.control import restarts, role_weights, rollouts
from apps.clusters.models import Cluster, ClusterEvent, NodeSample, RoleProposal, Rollout
from apps.clusters.polling import watchdog_watch
from apps.clusters.queries.disagreements import disagreements_answer
from apps.clusters.queries.watchdog import WatchdogAnswer
from deploy.lab import Lab, promotion
from tests.clusters.polling_scene import watching
from tests.lab.registered import register_lab

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(400)]


@pytest.fixture
def trio(tmp_path: Any) -> Iterator[Lab]:
    """Of its own: after it another backend is the primary."""
    lab = Lab(tmp_path / "trio", pgpool_count=3, num_init_children=8, has_watchdog=True)
    lab.belongs_to(os.getpid())
    try:
        lab.up()
        yield lab
    finally:
        lab.forget()


def read_counts(cluster: Cluster, node_id: int) -> list[int]:
    """Of the first pgpool, as sampled."""
    first = cluster.instances.order_by("name")[0]
    found = NodeSample.objects.filter(instance_id=first.pk, node_id=node_id).order_by("at")
    return [count for count in found.values_list("select_count", flat=True) if count is not None]


def test_a_standby_that_is_promoted_is_one_event_and_the_weights_follow(
    trio: Lab, settings: Any, wait_until: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watchdog_watch, "EVERY_S", 1.0)
    cluster, caller = register_lab(trio, settings)
    wish: dict[str, Any] = {"primary_share": 0, "applies_itself": False, "pause_s": 600}
    role_weights.keep(caller=caller, cluster=cluster, now=timezone.now(), **wish)
    with watching():
        wait_until(lambda: Cluster.objects.get().primary_node_id == 0, "pg1 is known as the primary")
        wait_until(lambda: watched_by_all(cluster) == {"leader": 3, "standby": 6}, "the watchdogs agree", within_s=180)
        leader, others = led_by(cluster)
        said = f"{leader} leads, and 3 of 3 pgpools are alive, of which 2"
        wait_until(
            lambda: watched(cluster)["sentence"].startswith(said), "their view is told", told=lambda: watched(cluster)
        )
        wait_until(lambda: restart_order(cluster) == (*others, leader), "the leader is restarted last")

        promoted = promotion.fail_over(trio)
        wait_until(lambda: Cluster.objects.get().primary_node_id == promoted.node_id, "the promotion is seen")
        wait_until(lambda: is_agreed(cluster), "the pgpools and PostgreSQL agree again", within_s=180)
        sampled = len(read_counts(cluster, promoted.node_id))
        wait_until(lambda: len(read_counts(cluster, promoted.node_id)) > sampled, "its series goes on")
        roll_out(cluster, caller)
        assert shown(trio) == [[0.5, 0.0, 0.5]] * 3

        wish |= {"applies_itself": True, "pause_s": 0}
        role_weights.keep(caller=replace(caller, role="admin"), cluster=cluster, now=timezone.now(), **wish)
        switched = promotion.switch_over(trio, "pg3")
        wait_until(lambda: Cluster.objects.get().primary_node_id == switched.node_id, "the switchover is seen")
        wait_until(lambda: acted_by_itself(cluster), "the roles are followed without a person", within_s=180)
        act_by_itself()
        assert Rollout.objects.filter(cluster=cluster).count() == 2
        assert shown(trio) == [[0.5, 0.5, 0.0]] * 3

        leader, others = led_by(cluster)
        for name in others:
            trio.kill(name)
        missing = ("watchdog quorum", " and ".join(others))
        wait_until(lambda: missing in wrong_of(cluster).items(), "the quorum is missed", within_s=180)
        lost = {*(f"The watchdog lost {name}" for name in others), "The watchdog lost its quorum"}
        wait_until(lambda: lost <= watchdog_told(cluster), "what the watchdog lost is told", within_s=180)

    events = ClusterEvent.objects.filter(cluster=cluster, kind="role").order_by("at", "pk")
    assert [each.title for each in events] == [
        "pg2 was promoted; the primary was pg1", "pg3 was promoted; the primary was pg2"
    ]  # fmt: skip
    assert all(earlier <= later for earlier, later in pairwise(read_counts(cluster, promoted.node_id)))


def shown(trio: Lab) -> list[list[float]]:
    return [[float(row["lb_weight"]) for row in trio.pgpools.nodes(each)] for each in trio.plan.pgpools]


def act_by_itself() -> None:
    """As a worker does every few seconds."""
    role_weights.apply_by_itself(now=timezone.now())


def acted_by_itself(cluster: Cluster) -> bool:
    """Once the proposal of the latest promotion became a rollout, and that is verified."""
    act_by_itself()
    proposal = RoleProposal.objects.filter(cluster=cluster).latest("pk")
    if proposal.rollout is None:
        return False
    assert (proposal.state, proposal.is_automatic) == ("applied", True)
    advance(proposal.rollout)
    return True


def restart_order(cluster: Cluster) -> tuple[str, ...]:
    return tuple(restarts.risk_of(cluster=cluster, names=["pgpool-1", "pgpool-2", "pgpool-3"]).order)


def is_agreed(cluster: Cluster) -> bool:
    return disagreements_answer(cluster=cluster, now=timezone.now())["state"] == "agree"


def watched(cluster: Cluster) -> WatchdogAnswer:
    return disagreements_answer(cluster=cluster, now=timezone.now())["watchdog"]


def watched_by_all(cluster: Cluster) -> Counter[str | None]:
    """How often each state is told, once all three watchdogs tell something."""
    return Counter(cell["state"] for cell in watched(cluster)["cells"] if cell["is_current"])


def wrong_of(cluster: Cluster) -> dict[str, str]:
    findings = disagreements_answer(cluster=cluster, now=timezone.now())["findings"]
    return {each["about"]: each["who_is_wrong"] for each in findings}


def watchdog_told(cluster: Cluster) -> set[str]:
    """Titles of what was told of it."""
    return set(ClusterEvent.objects.filter(cluster=cluster, kind="watchdog").values_list("title", flat=True))


def led_by(cluster: Cluster) -> tuple[str, list[str]]:
    """The leader is not always the one with the highest priority: who comes up first may lead."""
    leader = watched(cluster)["views"][0]["leader"]
    assert leader is not None
    return leader, [name for name in ("pgpool-1", "pgpool-2", "pgpool-3") if name != leader]


def roll_out(cluster: Cluster, caller: Caller) -> None:
    assert RoleProposal.objects.get().state == "open"
    advance(role_weights.apply(caller=caller, cluster=cluster, now=timezone.now()))
    assert RoleProposal.objects.get().state == "applied"


def advance(rollout: Rollout) -> None:
    rollouts.advance(rollout_id=rollout.pk, holder="test", clock=timezone.now)
    rollout.refresh_from_db()
    story = "\n".join(f"{line.instance_name}: {line.text}" for line in rollout.log.order_by("pk"))
    assert rollout.state == "verified", story
