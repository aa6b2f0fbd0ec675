"""The main job by REST, as a script does it: see a cluster, change its weights, see reads follow; and what fails."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from deploy.demo.dashboard import Answer
from tests.product import FIRST_SHARES, FIRST_WEIGHTS, NAMES, Product, wait_until

pytestmark = pytest.mark.timeout(400)

MOVED, MOVED_SHARES = {"0": 0, "1": 1, "2": 3}, (0.0, 0.25, 0.75)
METRICS = {
    "read_share": "node_id",
    "weight_share": "node_id",
    "reads_per_s": "node_id",
    "probe_ms": "instance",
    "children_used": "instance",
    "backend_probe_ms": "node_id",
    "replay_lag_s": "node_id",
    "replay_lag_bytes": "node_id",
    "cache_hit_ratio": None,
}


def problem(answer: Answer, status: int, kind: str) -> dict[str, Any]:
    """The body of a refusal, which is problem+json (RFC 9457)."""
    assert answer.status == status, answer
    assert answer.content["type"] == f"urn:lifeguard:{kind}"
    assert answer.content["status"] == status
    assert answer.content["title"]
    assert answer.content["detail"]
    content: dict[str, Any] = answer.content
    return content


def values(series: Mapping[str, Any]) -> list[float]:
    return [value for _, value in series["points"] if value is not None]


def states(rollout: Mapping[str, Any]) -> dict[str, str]:
    return {step["instance"]: step["state"] for step in rollout["steps"]}


def test_a_script_sees_the_cluster_its_nodes_and_where_the_reads_go(product: Product) -> None:
    [cluster] = [one for one in product.get("clusters/")["results"] if one["slug"] == "orders"]
    assert {one["name"]: one["state"] for one in cluster["pgpools"]} == dict.fromkeys(NAMES, "answering")
    assert [one["role"] for one in cluster["backends"]] == ["primary", "standby", "standby"]
    assert "password" not in str(cluster)

    product.await_first_weights()
    wait_until(lambda: product.distribution(300)["reads"] > 0, "reads are counted")
    seen = product.distribution(300)

    assert seen["verdict"]["state"] in {"follows", "within_noise", "off", "too_little_traffic"}
    assert seen["verdict"]["sentence"].endswith(".")
    assert [node["weight_share"] for node in seen["nodes"]] == list(FIRST_SHARES)
    assert sum(node["select_count"] for node in seen["nodes"]) == seen["reads"]
    assert seen["nodes"][0]["observed_share"] == pytest.approx(0, abs=0.01)


@pytest.mark.parametrize("metric", METRICS)
def test_every_metric_has_a_series_with_values_for_each_of_its_owners(product: Product, metric: str) -> None:
    owner = METRICS[metric]
    standbys_only = metric.startswith("replay_lag")
    expected = {"node_id": {1, 2} if standbys_only else {0, 1, 2}, "instance": set(NAMES), None: {None}}[owner]

    def found() -> dict[Any, list[float]]:
        answer = product.get(f"clusters/orders/series/?metric={metric}&points=50")
        assert answer["metric"] == metric
        assert answer["unit"]
        assert all(len(series["points"]) <= 50 for series in answer["series"])
        return {series.get(owner) if owner else None: values(series) for series in answer["series"]}

    wait_until(lambda: {key for key, figures in found().items() if figures} >= expected, f"{metric} has values")


def test_what_does_not_exist_or_is_not_ones_own_is_a_problem_with_its_reason(product: Product) -> None:
    product.member("admin", organisation="rival")
    other = product.manage(
        "create_token", "--email=admin@rival.example", "--organisation=rival", "--name=e2e", "--scope=write"
    ).strip()

    for path in ("clusters/orders/", "clusters/orders/weights/", "clusters/orders/distribution/"):
        problem(product.ask(path, token=other), 404, "not-found")
    refused = product.ask("clusters/orders/weights/", token=other, body={"weights": FIRST_WEIGHTS}, method="PUT")
    problem(refused, 404, "not-found")
    assert product.ask("clusters/", token=other).content["results"] == []
    problem(product.ask("clusters/", token="lg_nobody"), 401, "authentication-failed")
    unknown = problem(product.ask("clusters/orders/series/?metric=happiness"), 400, "invalid")
    assert "reads_per_s" in unknown["detail"]


@pytest.mark.parametrize(
    ("weights", "field"),
    [
        ({"0": 0, "1": -1, "2": 1}, "weights.1"),
        ({"0": 0, "1": "much", "2": 1}, "weights.1"),
        ({"0": 0, "1": 0, "2": 0}, "weights"),
        ({"0": 0, "1": 1}, "weights.2"),
        ({"0": 0, "1": 1, "2": 1, "7": 1}, "weights.7"),
    ],
)
def test_weights_that_make_no_sense_are_refused_by_field_and_nothing_is_stored(
    product: Product, weights: dict[str, Any], field: str
) -> None:
    def asked_for() -> list[int]:
        """Without the files as they were registered, which are kept at any moment of the first minute."""
        return [one["number"] for one in product.get("clusters/orders/revisions/")["results"] if one["rollouts"]]

    before = asked_for()

    refused = problem(product.put_weights(weights), 400, "invalid")

    assert [error["field"] for error in refused["errors"]] == [field]
    assert asked_for() == before
    assert product.shown_shares("pgpool-1") == FIRST_SHARES


def test_new_weights_are_verified_on_every_pgpool_reads_follow_and_a_rollback_takes_them_back(
    restored: Product,
) -> None:
    asked = restored.put_weights({"0": 0, "1": 0, "2": 1}, note="pg2 gets a rest")
    assert asked.status == 202, asked
    rollout = restored.await_rollout(asked.content["id"], "verified")

    assert states(rollout) == dict.fromkeys(NAMES, "verified")
    assert {name: restored.shown_shares(name) for name in NAMES} == dict.fromkeys(NAMES, (0.0, 0.0, 1.0))
    latest = restored.get("clusters/orders/revisions/")["results"][0]
    assert (latest["note"], latest["rollouts"]) == ("pg2 gets a rest", [rollout["id"]])
    wait_until(
        lambda: (restored.observed()[2] or 0) > 0.9 and restored.rollout(rollout["id"])["converged"],
        "the reads are at pg3 and the rollout knows",
        told=restored.distribution,
    )

    back = restored.ask(f"rollouts/{rollout['id']}/rollback/", method="POST", body={})

    assert back.status == 202, back
    assert back.content["rollback_of"] == rollout["id"]
    restored.await_rollout(back.content["id"], "verified")
    assert {name: restored.shown_shares(name) for name in NAMES} == dict.fromkeys(NAMES, FIRST_SHARES)
    assert restored.changed_files() == []
    wait_until(lambda: (restored.observed()[1] or 0) > 0.2, "pg2 gets reads again", told=restored.distribution)


def test_a_file_that_was_edited_by_hand_is_named_and_changed_only_when_it_is_taken_as_it_is(restored: Product) -> None:
    restored.change_weights(FIRST_WEIGHTS)
    restored.edit_by_hand("pgpool-2", "log_connections = on")

    refused = problem(restored.put_weights(MOVED), 409, "base-changed")

    assert [(one["instance"], one["name"], one["after"]) for one in refused["differences"]] == [
        ("pgpool-2", "log_connections", "on")
    ]
    assert restored.shown_shares("pgpool-1") == FIRST_SHARES
    taken = restored.put_weights(MOVED, base="live")
    assert taken.status == 202, taken
    restored.await_rollout(taken.content["id"], "verified")
    assert {name: restored.shown_shares(name) for name in NAMES} == dict.fromkeys(NAMES, MOVED_SHARES)
    assert "log_connections = on" in restored.conf("pgpool-2").read_text(encoding="utf-8")


# One pgpool after the other, with time in between in which nothing that a frozen pgpool does is looked at.
HELD = {
    "strategy": "one_by_one",
    "hold_s": 10,
    "guards": {
        "replay_lag_s": 3600, "error_factor": None, "latency_factor": None, "lost": False, "shares": False,
        "aborted": None,
    },
}  # fmt: skip


def await_first_step(product: Product, rollout_id: int, *, verified: int = 1) -> None:
    wait_until(
        lambda: [step["state"] for step in product.rollout(rollout_id)["steps"]][:verified] == ["verified"] * verified,
        "the first pgpools are verified",
        told=lambda: product.story(rollout_id),
    )


def test_a_pgpool_frozen_in_a_rollout_leaves_none_of_them_with_half_of_it(restored: Product) -> None:
    rollout_id = restored.put_weights(MOVED, plan=HELD).content["id"]
    await_first_step(restored, rollout_id)
    # Before the first file was written it would have kept the rollout from everybody.
    restored.lab.freeze("pgpool-2")

    running = problem(restored.put_weights(FIRST_WEIGHTS), 409, "rollout-running")
    assert running["rollout"] == rollout_id
    wait_until(
        lambda: restored.rollout(rollout_id)["is_halting"],
        "the rollout halts",
        told=lambda: restored.story(rollout_id),
    )
    wait_until(
        lambda: states(restored.rollout(rollout_id))["pgpool-1"] == "restored",
        "pgpool-1 has its old file back",
        told=lambda: restored.story(rollout_id),
    )
    assert restored.shown_shares("pgpool-1") == FIRST_SHARES
    restored.lab.resume("pgpool-2")

    wait_until(
        lambda: restored.rollout(rollout_id)["state"] == "rolled_back",
        "every pgpool confirms its old file",
        told=lambda: restored.story(rollout_id),
    )
    rollout = restored.rollout(rollout_id)
    assert states(rollout) == {"pgpool-1": "restored", "pgpool-2": "restored", "pgpool-3": "skipped"}
    assert rollout["halt_reason"].startswith("pgpool-2")
    assert {name: restored.shown_shares(name) for name in NAMES} == dict.fromkeys(NAMES, FIRST_SHARES)


def test_a_worker_killed_in_the_middle_of_a_rollout_is_followed_by_another_that_ends_it(restored: Product) -> None:
    rollout_id = restored.put_weights(MOVED, plan=HELD).content["id"]
    await_first_step(restored, rollout_id)
    # The frozen pgpool holds the rollout where the worker is to die.
    restored.lab.freeze("pgpool-2")
    wait_until(
        lambda: restored.rollout(rollout_id)["touched"] == 2,
        "pgpool-2 is being changed",
        told=lambda: restored.story(rollout_id),
    )

    restored.kill("--queues=rollout")
    restored.lab.resume("pgpool-2")

    rollout = restored.await_rollout(rollout_id, "verified")
    assert states(rollout) == dict.fromkeys(NAMES, "verified")
    assert {name: restored.shown_shares(name) for name in NAMES} == dict.fromkeys(NAMES, MOVED_SHARES)


def test_a_rollout_that_is_cancelled_half_way_puts_the_old_files_back(restored: Product) -> None:
    rollout_id = restored.put_weights(MOVED, plan=HELD).content["id"]
    await_first_step(restored, rollout_id, verified=2)

    asked = restored.ask(f"rollouts/{rollout_id}/cancel/", method="POST", body={})

    assert asked.status == 202, asked
    assert asked.content["is_cancel_requested"]
    wait_until(
        lambda: restored.rollout(rollout_id)["state"] == "rolled_back",
        "every touched pgpool has its old file back",
        told=lambda: restored.story(rollout_id),
    )
    assert {name: restored.shown_shares(name) for name in NAMES} == dict.fromkeys(NAMES, FIRST_SHARES)
    assert restored.changed_files() == []
    problem(restored.ask(f"rollouts/{rollout_id}/cancel/", method="POST", body={}), 409, "rollout-refused")


def test_writes_that_are_stopped_amid_a_rollout_write_nothing_more_until_they_are_allowed(restored: Product) -> None:
    rollout_id = restored.put_weights(MOVED, plan=HELD).content["id"]
    await_first_step(restored, rollout_id)

    stopped = restored.ask("writes-allowed/", method="PUT", body={"allowed": False, "reason": "storage"})

    assert stopped.status == 200, stopped
    held = {name: restored.conf(name).read_text(encoding="utf-8") for name in NAMES}
    wait_until(
        lambda: restored.rollout(rollout_id)["sentence"].startswith("Waiting. All writes were stopped"),
        "the rollout waits",
        told=lambda: restored.story(rollout_id),
    )
    ends_at = restored.rollout(rollout_id)["hold_ends_at"]
    wait_until(lambda: ends_at is None or datetime.now(UTC) > datetime.fromisoformat(ends_at), "its hold is over")
    problem(restored.put_weights(FIRST_WEIGHTS), 409, "writes-stopped")
    assert {name: restored.conf(name).read_text(encoding="utf-8") for name in NAMES} == held
    assert states(restored.rollout(rollout_id)) == {
        "pgpool-1": "verified",
        "pgpool-2": "pending",
        "pgpool-3": "pending",
    }

    allowed = restored.ask("writes-allowed/", method="PUT", body={"allowed": True, "reason": "storage is well"})

    assert allowed.status == 200, allowed
    rollout = restored.await_rollout(rollout_id, "verified")
    assert states(rollout) == dict.fromkeys(NAMES, "verified")
    assert {name: restored.shown_shares(name) for name in NAMES} == dict.fromkeys(NAMES, MOVED_SHARES)


def test_a_paused_standby_is_seen_to_fall_behind_and_one_that_is_down_is_named_by_the_verdict(
    restored: Product,
) -> None:
    restored.await_first_weights()
    restored.lab.pause_replay("pg2")
    wait_until(
        lambda: (restored.node(1)["replay_lag_s"] or 0) > 2 and restored.node(1)["replay_lag_bytes"] > 0,
        "pg2 is seen to be behind",
        told=lambda: restored.node(1),
    )

    restored.lab.stop("pg3")

    wait_until(
        lambda: "pg3 is down" in restored.distribution()["verdict"]["sentence"],
        "the verdict names pg3",
        told=restored.distribution,
    )
    assert restored.node(2)["status"] == "down"
    assert restored.node(2)["replay_lag_s"] is None
    assert restored.node(2)["reason"]
    effective = [node["effective_share"] for node in restored.distribution()["nodes"]]
    assert effective == [0, 1, 0]  # all of pg3's half goes to pg2
    cluster = restored.get("clusters/orders/")
    assert cluster["state"] == "warn"
    assert "pg3 is down." in cluster["reasons"]
