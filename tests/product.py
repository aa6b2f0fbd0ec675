"""The whole product as the demo starts it: a real cluster, Lifeguard's own servers, its workers, its pages."""

import contextlib
import difflib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest

from deploy import processes
from deploy.demo import dashboard, keeping, place, stack
from deploy.demo.place import Place
from deploy.lab import Lab
from deploy.processes import Process

CLONE = Path(__file__).parent.parent
FIRST_WEIGHTS = {"0": 0, "1": 1, "2": 1}
FIRST_SHARES = (0.0, 0.5, 0.5)
NAMES = ("pgpool-1", "pgpool-2", "pgpool-3")
# What a test edits by hand is to be seen soon.
IMPATIENT = {"LIFEGUARD_FILES_EVERY_S": "2"}
ACTIVE = ("pending", "running", "paused")


def wait_until(
    is_so: Callable[[], object], what: str, *, within_s: float = 60, told: Callable[[], object] = str
) -> None:
    """Ask again and again; told: what is said of the matter when it does not come true."""
    ends_at = time.monotonic() + within_s
    while not is_so():
        if time.monotonic() > ends_at:
            pytest.fail(f"not within {within_s:.0f} s: {what}. {told()}")
        time.sleep(0.2)


@dataclass(frozen=True)
class Product:
    place: Place
    said: Mapping[str, Any]
    lab: Lab
    first_files: dict[Path, str]  # every pgpool.conf with the first weights, as Lifeguard wrote it last

    @property
    def url(self) -> str:
        return str(self.said["url"])

    @property
    def settings(self) -> place.Settings:
        known = place.load(self.place)
        assert known is not None
        return known

    def ask(
        self, path: str, *, body: Mapping[str, Any] | None = None, method: str | None = None, token: str | None = None
    ) -> dashboard.Answer:
        token = self.said["api_token"] if token is None else token
        return dashboard.ask(f"{self.url}/api/v1/{path}", token=token, body=body, method=method)

    def get(self, path: str) -> Any:
        answer = self.ask(path)
        assert answer.status == 200, (path, answer)
        return answer.content

    def manage(self, *arguments: str, stdin: str = "") -> str:
        settings = stack.lifeguard_environment(self.place, self.settings, self.lab.addresses)
        return dashboard.manage(*arguments, environment={**os.environ, **settings}, stdin=stdin)

    def member(self, role: str, *, organisation: str = "demo") -> tuple[str, str]:
        """A person of this role: e-mail and password. One and the same however often it is asked for."""
        email, password = f"{role}@{organisation}.example", f"{organisation} {role} passes here"
        self.manage(
            "create_member", f"--email={email}", f"--organisation={organisation}", f"--role={role}",
            *(["--create-organisation=Rival"] if organisation != "demo" else []), "--password-stdin",
            stdin=f"{password}\n",
        )  # fmt: skip
        return email, password

    def forget_reads(self, since: datetime) -> None:
        """Of a load's few busy sessions. For half an hour verdicts would take them for what sessions usually send."""
        self.manage(
            "shell", "-c",
            "from apps.clusters.models import InstanceLatest, NodeSample\n"
            f"NodeSample.objects.filter(at__gte='{since.isoformat()}').delete()\n"
            "InstanceLatest.objects.update(draws_per_read=None, draws_at=None)",
        )  # fmt: skip
        wait_until(lambda: None not in self.observed(), "reads are seen again", told=self.distribution)

    # -- weights and rollouts

    def put_weights(self, weights: Mapping[str, Any], **options: Any) -> dashboard.Answer:
        return self.ask("clusters/orders/weights/", body={"weights": weights, **options}, method="PUT")

    def rollout(self, rollout_id: int) -> dict[str, Any]:
        answer: dict[str, Any] = self.get(f"rollouts/{rollout_id}/")
        return answer

    def await_rollout(self, rollout_id: int, state: str, *, within_s: float = 90) -> dict[str, Any]:
        wait_until(
            lambda: self.rollout(rollout_id)["state"] not in ACTIVE,
            f"rollout {rollout_id} ends",
            within_s=within_s,
            told=lambda: self.story(rollout_id),
        )
        rollout = self.rollout(rollout_id)
        assert rollout["state"] == state, self.story(rollout_id)
        return rollout

    def story(self, rollout_id: int) -> str:
        rollout = self.rollout(rollout_id)
        lines = [f"{line['at']} {line['instance']} {line['text']}" for line in rollout["log"]]
        return "\n".join([f"{rollout['state']}: {rollout['sentence']} {rollout['halt_reason']}", *lines])

    def change_weights(self, weights: Mapping[str, Any]) -> dict[str, Any]:
        asked = self.put_weights(weights)
        assert asked.status == 202, asked
        return self.await_rollout(asked.content["id"], "verified")

    def shown_shares(self, name: str) -> tuple[float, ...]:
        """lb_weight of each backend, asked of the pgpool itself. Empty while it cuts its sessions for a failover."""
        pgpool = next(one for one in self.lab.plan.pgpools if one.name == name)
        try:
            return tuple(round(float(row["lb_weight"]), 4) for row in self.lab.pgpools.nodes(pgpool))
        except psycopg.OperationalError:
            return ()

    def shown_parameter(self, name: str, parameter: str) -> str:
        """By the pgpool itself, in a new session; with its unit, as in "7s"."""
        pgpool = next(one for one in self.lab.plan.pgpools if one.name == name)
        with self.lab.pgpools.connect(pgpool) as connection:
            row = connection.execute(f"PGPOOL SHOW {parameter}").fetchone()  # type: ignore[arg-type,unused-ignore]
        assert row is not None
        return str(row[0])

    def conf(self, name: str) -> Path:
        return Path(next(one.conf for one in self.lab.plan.pgpools if one.name == name))

    def files(self) -> dict[Path, str]:
        return {Path(one.conf): Path(one.conf).read_text(encoding="utf-8") for one in self.lab.plan.pgpools}

    def changed_files(self) -> list[str]:
        """What differs between the files now and as they were at first."""
        return [
            line
            for path, text in self.files().items()
            for line in difflib.unified_diff(self.first_files[path].splitlines(), text.splitlines(), n=0)
        ]

    def edit_by_hand(self, name: str, line: str) -> None:
        """In place of the line that is there for the parameter, else at the end: a second one would be refused."""
        path, parameter = self.conf(name), line.partition(" ")[0]
        lines = path.read_text(encoding="utf-8").splitlines()
        kept = [one for one in lines if one.partition(" ")[0] != parameter]
        self.lab.account.file(path, "\n".join([*kept, line, ""]))

    # -- what is seen

    def pgpool_state(self, name: str) -> str:
        return str(next(one["state"] for one in self.get("clusters/orders/")["pgpools"] if one["name"] == name))

    def node(self, node_id: int) -> dict[str, Any]:
        node: dict[str, Any] = self.get("clusters/orders/nodes/")["nodes"][node_id]
        return node

    def distribution(self, window_s: int = 60) -> dict[str, Any]:
        answer: dict[str, Any] = self.get(f"clusters/orders/distribution/?window_s={window_s}")
        return answer

    def observed(self) -> list[float | None]:
        return [node["observed_share"] for node in self.distribution()["nodes"]]

    def is_well(self) -> bool:
        """Whether everything is seen to run."""
        cluster = self.get("clusters/orders/")
        nodes = self.get("clusters/orders/nodes/")["nodes"]
        return all(one["state"] == "answering" for one in cluster["pgpools"]) and all(
            one["status"] in ("up", "waiting") and not one["reason"] for one in nodes
        )

    def await_first_weights(self) -> None:
        """Until it is seen, at the next slow poll, that an earlier test's weights are gone."""
        wait_until(
            lambda: tuple(one["weight_share"] for one in self.get("clusters/orders/nodes/")["nodes"]) == FIRST_SHARES,
            "the first weights are seen",
            told=lambda: self.get("clusters/orders/nodes/"),
        )

    # -- programs

    @property
    def keeper(self) -> Process:
        """The supervisor."""
        keeper = keeping.keeper_of(self.place.directory)
        assert keeper is not None
        return keeper

    def program(self, *words: str) -> list[Process]:
        """Living processes of the product whose command line has all these words; parents come first."""
        return [one for one in processes.descendants(self.keeper.pid) if set(words) <= set(command_line(one.pid))]

    def kill(self, *words: str) -> None:
        """SIGKILL; what keeps the programs alive starts it again."""
        found = self.program(*words)
        assert found, words
        for one in found:
            processes.send(one, signal.SIGKILL)

    @contextlib.contextmanager
    def without_redis(self) -> Iterator[None]:
        """Redis is gone, and what starts it again and again finds no settings."""
        settings = self.place.directory / "redis" / "redis.conf"
        away = settings.with_name("redis.conf.away")
        settings.rename(away)
        try:
            self.kill_redis()
            wait_until(lambda: not answers_at(self.settings.redis_port), "Redis is gone")
            yield
        finally:
            away.rename(settings)
        wait_until(lambda: answers_at(self.settings.redis_port), "Redis is back")

    def kill_redis(self) -> None:
        self.kill(str(self.place.directory.resolve() / "redis" / "redis.conf"))

    # -- putting it right

    def restore(self) -> None:
        """Undo faults, rollouts, edits and registrations of a test; wait until all of it is seen to run."""
        self.lab.repair()
        if not self.get("writes-allowed/")["allowed"]:
            self.ask("writes-allowed/", method="PUT", body={"allowed": True, "reason": "as it was"})
        if self.get("clusters/orders/role-weights/")["primary_share"] is not None:
            self.ask("clusters/orders/role-weights/", method="PUT", body={"primary_share": None})
        wait_until(self._is_at_rest, "nothing is under way or owed", told=lambda: self.get("clusters/orders/debts/"))
        for cluster in self.get("clusters/")["results"]:
            if cluster["slug"] != "orders":
                self.ask(f"clusters/{cluster['slug']}/", method="DELETE")
        if self._restore_files() or not all(self.shown_shares(name) == FIRST_SHARES for name in NAMES):
            asked = self.put_weights(FIRST_WEIGHTS, base="live", note="as it was")
            assert asked.status == 202, asked
            self.await_rollout(asked.content["id"], "verified")
            # What an earlier test set and the file lacks again was written out with its default.
            self.first_files.update(self.files())
        wait_until(self.is_well, "all is well again", told=lambda: self.get("clusters/orders/"))

    def _is_at_rest(self) -> bool:
        """Whether nothing more will be written by itself; what would be is cancelled, or let go."""
        orders = "clusters/orders"
        running = [one for one in self.get(f"{orders}/rollouts/")["results"] if one["state"] in ACTIVE]
        for rollout in running:
            self.ask(f"rollouts/{rollout['id']}/cancel/", method="POST", body={})
        restart = self.get(f"{orders}/restarts/")["restart"]
        if restart is not None:
            self.ask(f"{orders}/restarts/{restart['id']}/cancel/", method="POST", body={})
        drain = self._operation()
        if drain is not None and drain["can_cancel"]:
            self.ask(f"{orders}/operations/{drain['id']}/cancel/", method="POST", body={})
        owed = self.get(f"{orders}/debts/")["open"]
        for debt in owed:
            self.ask(f"{orders}/debts/{debt['id']}/forgive/", method="POST", body={})
        return not running and restart is None and drain is None and not owed

    def _operation(self) -> dict[str, Any] | None:
        """The attach, detach or drain under way."""
        backends = [self.get(f"clusters/orders/backends/{node_id}/") for node_id in range(len(FIRST_SHARES))]
        return next((one["operation"] for one in backends if one["operation"] is not None), None)

    def _restore_files(self) -> bool:
        files = self.files()
        changed = [one for one in self.lab.plan.pgpools if files[Path(one.conf)] != self.first_files[Path(one.conf)]]
        for pgpool in changed:
            self.lab.account.file(Path(pgpool.conf), self.first_files[Path(pgpool.conf)])
            self.lab.pgpools.reload(pgpool)
        return bool(changed)


def command_line(pid: int) -> Sequence[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8", errors="replace").split("\0")
    except OSError:
        return []


def answers_at(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=2):
            return True
    except OSError:
        return False


@contextlib.contextmanager
def running_product(root: Path) -> Iterator[Product]:
    demo(root, "up")
    try:
        where = Place(root)
        lab = stack.lab_of(where)
        product = Product(where, json.loads(where.announcement.read_text(encoding="utf-8")), lab, {})
        wait_until(product.is_well, "the first polls are in")
        # The lab writes 0.5 where Lifeguard writes 1.
        product.change_weights(FIRST_WEIGHTS)
        product.first_files.update(product.files())
        yield product
    finally:
        demo(root, "reset")


def demo(root: Path, command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "deploy.demo", "--root", str(root), command],
        cwd=CLONE, capture_output=True, text=True, check=False,
        env={**{name: value for name, value in os.environ.items() if name != "LIFEGUARD_PORT"}, **IMPATIENT},
    )  # fmt: skip
    if done.returncode != 0:
        logs = [f"== {log.name}\n{log.read_text(errors='replace')[-2000:]}" for log in Place(root).logs.glob("*.log")]
        pytest.fail("\n".join([f"demo {command}:", done.stdout, done.stderr, *logs]))
