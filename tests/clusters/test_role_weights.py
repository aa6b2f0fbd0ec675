"""Weights by role: a promotion is one event and one proposal; nothing happens by itself unless that is wanted."""

import dataclasses
import datetime as dt
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import PermissionDenied
from django.utils import timezone

from apps.accounts.models import AuditEntry, Membership
from apps.clusters.control import role_weights
from apps.clusters.domain.show_rows import PoolNode
from apps.clusters.models import BackendLatest, ClusterEvent, NodeLatest, RoleProposal, RoleWeights, Rollout
from apps.clusters.polling import lease, store
from apps.clusters.polling.memory import ClusterMemory, remembered
from apps.clusters.polling.readings import InstanceReading, NodeReading, Tick
from apps.clusters.polling.registry import watched_clusters
from tests.clusters.callers_at_doors import browser, script
from tests.clusters.rollout_scene import Scene, scene
from tests.clusters.seen_cluster import poll
from tests.clusters.test_registration_pages import text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def orders(db: None, tmp_path: Path, settings: Any) -> Iterator[Scene]:
    """pg1 is the primary at weight 0, the standbys share the reads; three pgpools, polled just now."""
    with scene(tmp_path, settings) as found:
        poll(found.cluster, seen_at=timezone.now())
        yield found


def want(orders: Scene, *, share: float = 0, applies_itself: bool = False, pause_s: int = 600) -> None:
    admin = dataclasses.replace(orders.caller, role="admin")
    role_weights.keep(
        caller=admin,
        cluster=orders.cluster,
        primary_share=share,
        applies_itself=applies_itself,
        pause_s=pause_s,
        now=timezone.now(),
    )


def pool_node(node_id: int, role: str) -> PoolNode:
    return PoolNode(
        node_id=node_id,
        hostname="127.0.0.1",
        port=25432 + node_id,
        status="up",
        pg_status="up",
        lb_weight=0.5 if node_id else 0.0,
        role=role,
        pg_role=role,
        select_count=0,
        load_balance_node=False,
        replication_delay_bytes=0,
        replication_delay_s=None,
        replication_state=None,
        replication_sync_state=None,
        last_status_change=None,
    )


def tick(orders: Scene, memory: ClusterMemory, primaries: dict[str, int], number: int) -> None:
    """What the pgpools of these names say of who is the primary, polled and stored."""
    instances = []
    for one in orders.instances:
        if one.name in primaries:
            nodes = tuple(pool_node(n, "primary" if n == primaries[one.name] else "standby") for n in range(3))
            told = tuple(NodeReading(n.node_id, n.status, n.role, n.select_count) for n in nodes)
            instances.append(InstanceReading(one.pk, "answering", nodes=told, pool_nodes=nodes))
    held = lease.take(shard=0, holder="test")
    assert held is not None
    [watched] = watched_clusters(shard=0, shards=1, now=timezone.now())
    store.store(
        cluster=watched,
        tick=Tick(at=timezone.now(), number=number, instances=tuple(instances), backends=()),
        memory=memory,
        lease=held,
    )
    lease.release(held)


ALL = ("pgpool-1", "pgpool-2", "pgpool-3")


def promote(orders: Scene, node_id: int = 1, *, memory: ClusterMemory | None = None) -> ClusterMemory:
    """Every pgpool saw pg1 as the primary, and then sees this one."""
    memory = memory or remembered(orders.cluster.pk)
    if memory.primary is None:
        tick(orders, memory, dict.fromkeys(ALL, 0), 1)
    tick(orders, memory, dict.fromkeys(ALL, node_id), 2)
    BackendLatest.objects.filter(backend__cluster=orders.cluster).update(is_in_recovery=True)
    BackendLatest.objects.filter(backend__cluster=orders.cluster, backend__node_id=node_id).update(is_in_recovery=False)
    return memory


def role_events(orders: Scene) -> list[str]:
    found = ClusterEvent.objects.filter(cluster=orders.cluster, kind="role").order_by("pk")
    return list(found.values_list("title", flat=True))


def test_a_promotion_is_one_event_whoever_sees_it_first(orders: Scene) -> None:
    memory = remembered(orders.cluster.pk)
    for number, seen in enumerate([(0, 0, 0), (1, 0, 0), (1, 1, 0), (1, 1, 1), (1, 1, 1)]):
        tick(orders, memory, dict(zip(ALL, seen, strict=True)), number)

    assert role_events(orders) == ["pg2 was promoted; the primary was pg1"]
    began_anew = NodeLatest.objects.filter(instance__cluster=orders.cluster, node_id=1, role_since__isnull=False)
    assert began_anew.count() == 3
    assert not NodeLatest.objects.filter(instance__cluster=orders.cluster, figures_at=None).exists()


def test_a_pgpool_that_was_away_and_a_new_worker_tell_no_promotion_twice(orders: Scene) -> None:
    tick(orders, remembered(orders.cluster.pk), dict.fromkeys(ALL, 0), 1)
    # pgpool-3, whose rows come last, is away and keeps its old view of pg1 as the primary.
    tick(orders, remembered(orders.cluster.pk), {"pgpool-1": 1, "pgpool-2": 1}, 2)

    tick(orders, remembered(orders.cluster.pk), {"pgpool-1": 1, "pgpool-2": 1}, 3)

    assert role_events(orders) == ["pg2 was promoted; the primary was pg1"]


def test_a_promotion_proposes_weights_once_and_rolls_nothing_out(orders: Scene) -> None:
    want(orders)

    promote(orders)
    role_weights.apply_by_itself(now=timezone.now())

    proposal = RoleProposal.objects.get()
    assert (proposal.state, proposal.previous_node_id, proposal.primary_node_id) == ("open", 0, 1)
    assert not Rollout.objects.exists()


def test_without_weights_by_role_a_promotion_proposes_nothing(orders: Scene) -> None:
    promote(orders)

    assert role_events(orders) == ["pg2 was promoted; the primary was pg1"]
    assert not RoleProposal.objects.exists()


def test_roles_that_change_back_leave_nothing_to_propose(orders: Scene) -> None:
    want(orders)

    memory = promote(orders)
    promote(orders, 0, memory=memory)

    assert [each.state for each in RoleProposal.objects.order_by("pk")] == ["superseded"]


@pytest.mark.parametrize("is_verified", [False, True], ids=["under way", "just verified"])
def test_roles_that_change_back_amid_their_rollout_are_proposed_again(orders: Scene, is_verified: bool) -> None:
    """Weights are shown later than roles: those of the rollout were not seen when pg1 is the primary again."""
    want(orders)
    memory = promote(orders)
    orders.advance(rolled := role_weights.apply(caller=orders.caller, cluster=orders.cluster, now=timezone.now()))
    now = {"state": "verified", "finished_at": timezone.now()} if is_verified else {"state": "running"}
    Rollout.objects.filter(pk=rolled.pk).update(**now)

    promote(orders, 0, memory=memory)

    proposals = list(RoleProposal.objects.order_by("pk").values_list("state", "primary_node_id"))
    assert proposals == [("applied", 1), ("open", 0)]


def test_one_click_rolls_out_what_the_roles_ask_for(orders: Scene) -> None:
    want(orders, share=0.2)
    promote(orders)
    visitor = browser("operator")

    overview = text_of(visitor.get("/o/acme/clusters/orders/"))
    assert "pg2 was promoted; the primary was pg1." in overview
    assert "pg1 0 %, pg2 50 %, pg3 50 % → 40 %, 20 %, 40 %" in overview
    answer = visitor.post("/o/acme/clusters/orders/role-weights/apply/")

    rollout = Rollout.objects.get()
    assert (answer.status_code, answer["Location"]) == (303, f"/o/acme/rollouts/{rollout.pk}/")
    assert orders.advance(rollout).state == "verified"
    assert orders.weights() == [{0: 2.0, 1: 1.0, 2: 2.0}] * 3
    assert RoleProposal.objects.get().state == "applied"
    assert "was promoted; the primary was pg1. The weights still" not in text_of(
        visitor.get("/o/acme/clusters/orders/now/")
    )


def test_what_may_act_by_itself_does_so_once_and_in_the_name_of_who_set_it(orders: Scene) -> None:
    want(orders, applies_itself=True)
    promote(orders)

    for _ in range(3):
        role_weights.apply_by_itself(now=timezone.now())

    rollout, proposal = Rollout.objects.get(), RoleProposal.objects.get()
    assert (proposal.state, proposal.is_automatic, proposal.rollout) == ("applied", True, rollout)
    assert rollout.revision.note == "by role, without a person: pg2 is the primary"
    assert rollout.revision.weights["pgpool-1"] == {"0": 1, "1": 0, "2": 1}
    assert AuditEntry.objects.filter(action="weights.requested", user=orders.caller.user).count() == 1


def test_roles_that_flap_start_no_second_rollout_within_the_pause(orders: Scene) -> None:
    want(orders, applies_itself=True, pause_s=600)
    memory = promote(orders)
    role_weights.apply_by_itself(now=timezone.now())
    Rollout.objects.update(state="verified")

    promote(orders, 2, memory=memory)
    role_weights.apply_by_itself(now=timezone.now())

    assert Rollout.objects.count() == 1
    waiting = RoleProposal.objects.get(state="open")
    assert "The roles changed again within 600 s" in waiting.reason
    poll_again = timezone.now() + dt.timedelta(seconds=601)
    NodeLatest.objects.update(seen_at=poll_again)
    orders.cluster.instances.first().latest.__class__.objects.update(answered_at=poll_again, polled_at=poll_again)
    role_weights.apply_by_itself(now=poll_again)
    assert Rollout.objects.count() == 2


@pytest.mark.parametrize(
    ("hinder", "reason", "needs_person"),
    [
        (lambda o: o.edit_by_hand(), "was changed outside Lifeguard", True),
        (lambda o: Membership.objects.update(role="viewer"), "may not change weights any more", True),
        (lambda o: BackendLatest.objects.update(is_in_recovery=False), "pg1 and pg2 and pg3 both are", False),
    ],
)
def test_what_cannot_act_by_itself_waits_and_says_why(
    orders: Scene, hinder: Callable[[Scene], object], reason: str, needs_person: bool
) -> None:
    want(orders, applies_itself=True)
    promote(orders)
    hinder(orders)

    role_weights.apply_by_itself(now=timezone.now())

    proposal = RoleProposal.objects.get()
    assert (proposal.state, proposal.needs_person) == ("open", needs_person)
    assert reason in proposal.reason
    assert not Rollout.objects.exclude(state="cancelled").exists()


def test_only_an_admin_lets_it_act_by_itself(orders: Scene) -> None:
    with pytest.raises(PermissionDenied):
        role_weights.keep(
            caller=orders.caller,
            cluster=orders.cluster,
            primary_share=0,
            applies_itself=True,
            pause_s=0,
            now=timezone.now(),
        )

    assert not RoleWeights.objects.exists()


def test_odd_shares_are_refused_by_rest(orders: Scene) -> None:
    bodies = {
        '{"primary_share": 20}': "primary_share",
        '{"primary_share": "0.2"}': "primary_share",
        '{"primary_share": NaN}': None,
        '{"primary_share": 1e400}': None,
        '{"primary_share": 1' + "0" * 4000 + "}": "primary_share",
        '{"primary_share": {"a": [[[]]]}}': "primary_share",
        '{"primary_share": 0.2, "pause_s": -1}': "pause_s",
        '{"applies_itself": true}': "primary_share",
        "[]": None,
    }
    caller = script("operator")

    for body, field in bodies.items():
        answer = caller.put("/api/v1/clusters/orders/role-weights/", body, content_type="application/json")
        assert answer.status_code == 400, body
        assert field in [None, *(each["field"] for each in answer.json().get("errors", ()))], body
    assert not RoleWeights.objects.exists()


def test_rest_keeps_shows_applies_and_ends_weights_by_role(orders: Scene) -> None:
    caller = script("operator")
    address = "/api/v1/clusters/orders/role-weights/"

    kept = caller.put(address, {"primary_share": 0.2}, format="json").json()
    assert (kept["primary"], kept["weights"], kept["is_met"]) == (0, {"0": 1, "1": 2, "2": 2}, False)
    started = caller.post(f"{address}apply/")
    assert started.status_code == 202
    assert started.json()["state"] == "pending"
    assert caller.post(f"{address}apply/").status_code == 409
    assert caller.post(f"{address}dismiss/").status_code == 409
    ended = caller.put(address, {"primary_share": None}, format="json").json()
    assert (ended["primary_share"], ended["weights"]) == (None, None)
    assert caller.post(f"{address}apply/").status_code == 409


def test_the_page_says_what_is_wanted_and_refuses_an_odd_share(orders: Scene) -> None:
    visitor = browser("operator")
    page = "/o/acme/clusters/orders/role-weights/"

    refused = visitor.post(page, {"primary_percent": "120"})
    assert refused.status_code == 422
    assert "less than or equal to 100" in text_of(refused)
    stored = visitor.post(page, {"primary_percent": "33.33", "applies_itself": "on"})
    assert stored.status_code == 303
    kept = RoleWeights.objects.get()
    assert (float(kept.primary_share), kept.applies_itself) == (0.3333, False)
    assert "The primary takes 33.3 % of the reads" in text_of(visitor.get(page))
