"""Rollouts on real pgpools: the file is in force everywhere, reads follow, and faults end as they should."""

import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.utils import timezone

from apps.accounts.access import Caller
from apps.clusters.control import rollouts, weight_change
from apps.clusters.control.live_edits import EditRefused
from apps.clusters.control.parameter_change import Wish, request_change
from apps.clusters.control.weight_change import BaseChanged
from apps.clusters.models import Cluster, PendingRestart, Rollout
from deploy.lab import Lab
from tests.lab.registered import register_lab

pytestmark = pytest.mark.django_db

Wait = Callable[..., None]
READS_PER_SESSION = 3


@dataclass
class Registered:
    lab: Lab
    cluster: Cluster
    caller: Caller
    unused: Iterator[int] = field(default_factory=lambda: count(secrets.randbelow(10**8)))

    def request(self, *weights: int, base: str = "known") -> Rollout:
        return weight_change.request_weights(
            caller=self.caller,
            cluster=self.cluster,
            weights={str(node_id): weight for node_id, weight in enumerate(weights)},
            base=base,
            now=timezone.now(),
        )

    def advance(self, rollout: Rollout, *, when_looked: Callable[[], None] = lambda: None) -> Rollout:
        def clock() -> datetime:
            when_looked()
            return timezone.now()

        rollouts.advance(rollout_id=rollout.pk, holder="test", clock=clock)
        rollout.refresh_from_db()
        return rollout

    def states(self, rollout: Rollout) -> list[str]:
        return list(rollout.steps.order_by("position").values_list("state", flat=True))

    def story(self, rollout: Rollout) -> str:
        """What happened, for whoever reads a failure."""
        return "\n".join(f"{line.instance_name}: {line.text}" for line in rollout.log.order_by("pk"))

    def shown_weights(self) -> list[list[float]]:
        return [[float(row["lb_weight"]) for row in self.lab.pgpools.nodes(each)] for each in self.lab.plan.pgpools]

    def select_counts(self) -> list[int]:
        """Reads per backend over all pgpools, since they started."""
        rows = [self.lab.pgpools.nodes(pgpool) for pgpool in self.lab.plan.pgpools]
        return [sum(int(nodes[node_id]["select_cnt"]) for nodes in rows) for node_id in range(3)]

    def read_in_new_sessions(self, sessions: int) -> list[int]:
        """Send reads in so many sessions over all pgpools; how many reads each backend got."""
        before = self.select_counts()
        with ThreadPoolExecutor(max_workers=6) as pool:
            list(pool.map(self._one_session, range(sessions)))
        return [later - earlier for earlier, later in zip(before, self.select_counts(), strict=True)]

    def _one_session(self, number: int) -> None:
        pgpool, app = self.lab.plan.pgpools[number % 3], self.lab.addresses["app"]
        with psycopg.connect(
            host=pgpool.host, port=pgpool.port, user=app["username"], password=app["password"],
            dbname=app["database"], autocommit=True, prepare_threshold=None, sslmode="disable", connect_timeout=20,
        ) as connection:  # fmt: skip
            for _ in range(READS_PER_SESSION):
                # Each text is new, so that the query cache answers none of them: it would not count.
                connection.execute(b"SELECT balance + %d FROM accounts WHERE id = 1" % next(self.unused))


@pytest.fixture
def orders(restored_lab: Lab, db: None, settings: Any) -> Registered:
    return Registered(restored_lab, *register_lab(restored_lab, settings))


def test_new_weights_are_in_force_on_every_pgpool_and_new_sessions_follow_them(orders: Registered) -> None:
    rollout = orders.advance(orders.request(0, 1, 0))

    assert rollout.state == "verified", orders.story(rollout)
    assert orders.shown_weights() == [[0, 1, 0]] * 3
    assert orders.read_in_new_sessions(30) == [0, 90, 0]

    again = orders.advance(orders.request(0, 0, 1))

    assert again.state == "verified", orders.story(again)
    assert orders.shown_weights() == [[0, 0, 1]] * 3
    assert orders.read_in_new_sessions(30) == [0, 0, 90]


def test_a_file_keeps_its_owner_its_mode_and_everything_but_the_weights(orders: Registered) -> None:
    conf = Path(orders.lab.plan.pgpools[0].conf)
    before, text = conf.stat(), conf.read_text()

    rollout = orders.advance(orders.request(0, 3, 1))

    assert rollout.state == "verified", orders.story(rollout)
    after = conf.stat()
    assert (after.st_uid, after.st_gid, after.st_mode) == (before.st_uid, before.st_gid, before.st_mode)
    changed = set(conf.read_text().splitlines()) ^ set(text.splitlines())
    assert {line.split("=")[0].strip() for line in changed} == {"backend_weight1", "backend_weight2"}


def test_every_parameter_is_in_use_waits_for_a_restart_or_is_known_not_to_be_in_use(orders: Registered) -> None:
    wish = Wish(
        {
            "delay_threshold": "5000000",
            "client_idle_limit": "300",
            "health_check_max_retries": "2",
            "log_min_messages": "error",
            "prefer_lower_delay_standby": "on",
            "read_only_function_list": "now,get_.*",
            "num_init_children": "40",
        }
    )
    rollout = orders.advance(
        request_change(caller=orders.caller, cluster=orders.cluster, wish=wish, now=timezone.now())
    )

    assert rollout.state == "verified", orders.story(rollout)
    for step in rollout.steps.all():
        truths = {one["name"]: one["state"] for one in step.receipt["read_back"]["parameters"]}
        assert truths.pop("num_init_children") == "pending_restart"
        assert set(truths.values()) == {"live"}
    assert PendingRestart.objects.count() == 3

    conf = Path(orders.lab.plan.pgpools[1].conf)
    orders.lab.account.file(conf, conf.read_text() + "delay_treshold = 5\n")
    live = {"caller": orders.caller, "cluster": orders.cluster, "base": "live", "now": timezone.now()}
    with pytest.raises(EditRefused, match=r"pgpool-2: line \d+: delay_treshold is no parameter"):
        weight_change.request_weights(**live)
    assert not Rollout.objects.filter(pk__gt=rollout.pk).exists()


def test_a_rollback_brings_the_first_weights_back(orders: Registered) -> None:
    first = orders.advance(orders.request(0, 1, 0))
    assert first.state == "verified", orders.story(first)

    back = rollouts.request_rollback(caller=orders.caller, rollout=first, now=timezone.now())
    orders.advance(back)

    assert back.state == "verified", orders.story(back)
    assert orders.shown_weights() == [[0, 0.5, 0.5]] * 3


def test_a_file_edited_by_hand_is_refused_until_the_caller_takes_it_over(orders: Registered) -> None:
    orders.advance(orders.request(0, 1, 0))
    conf = Path(orders.lab.plan.pgpools[1].conf)
    orders.lab.account.file(conf, conf.read_text().replace("log_connections = off", "log_connections = on"))

    with pytest.raises(BaseChanged) as refused:
        orders.request(0, 1, 1)

    assert [(each["instance"], each["name"]) for each in refused.value.differences] == [("pgpool-2", "log_connections")]
    rollout = orders.advance(orders.request(0, 1, 1, base="live"))
    assert rollout.state == "verified", orders.story(rollout)
    assert "log_connections = on" in conf.read_text()


def test_a_pgpool_frozen_in_a_rollout_gives_the_others_their_old_file_back(orders: Registered) -> None:
    rollout = orders.request(0, 1, 0)
    frozen = list[str]()

    def freeze() -> None:
        """Once its own file was written: before that it would keep the rollout from everybody."""
        if not frozen and rollout.steps.filter(position=1, state="written").exists():
            orders.lab.freeze("pgpool-2")
            frozen.append("pgpool-2")

    orders.advance(rollout, when_looked=freeze)

    assert rollout.state == "failed", orders.story(rollout)
    assert orders.states(rollout) == ["restored", "restore_pending", "skipped"]
    assert [float(row["lb_weight"]) for row in orders.lab.pgpools.nodes(orders.lab.plan.pgpools[0])] == [0, 0.5, 0.5]
    assert rollout.halt_reason.startswith("pgpool-2")

    orders.lab.resume("pgpool-2")
    rollouts.advance(
        rollout_id=rollout.pk, holder="later", clock=lambda: timezone.now() + timedelta(minutes=1), sleep=lambda s: None
    )
    rollout.refresh_from_db()

    assert rollout.state == "rolled_back", orders.story(rollout)
    assert orders.shown_weights() == [[0, 0.5, 0.5]] * 3


def test_reads_can_be_moved_away_from_a_standby_that_is_down(orders: Registered, wait_until: Wait) -> None:
    orders.lab.stop("pg3")
    wait_until(
        lambda: all(orders.lab.pgpools.nodes(each)[2]["status"] == "down" for each in orders.lab.plan.pgpools),
        "every pgpool knows that pg3 is down",
    )

    rollout = orders.advance(orders.request(0, 1, 0))

    assert rollout.state == "verified", orders.story(rollout)
    assert orders.shown_weights() == [[0, 1, 0]] * 3
