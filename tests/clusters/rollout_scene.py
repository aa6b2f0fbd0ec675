"""A registered cluster whose pgpools are fakes with real files: what the stories of weights and rollouts act on."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from apps.accounts.access import Caller
from apps.accounts.models import Membership, Organisation, User
from apps.clusters.control import rollouts, weight_change
from apps.clusters.models import Backend, Cluster, PgpoolInstance, Rollout
from controlplane.environment import DeliveryDirectory
from tests.fake_pgpool import FakePgpool
from tests.fake_show import three_backends

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
SECRET = "very-secret"
OLD_WEIGHTS = {0: 0.0, 1: 1.0, 2: 1.0}
NEW_WEIGHTS = {"0": 0, "1": 1, "2": 3}


def conf_text(*, weights: tuple[str, ...] = ("0", "1", "1")) -> str:
    lines = ["# kept as it is", "listen_addresses = '*'", f"sr_check_password = '{SECRET}'"]
    for backend in three_backends():
        lines += [
            f"backend_hostname{backend.node_id} = '{backend.hostname}'",
            f"backend_port{backend.node_id} = {backend.port}",
            f"backend_weight{backend.node_id} = {weights[backend.node_id]}   # of node {backend.node_id}",
        ]
    return "\n".join([*lines, "delay_threshold = 1000", ""])


class Killed(BaseException):
    """Stands for SIGKILL: nothing in the product catches it."""


@dataclass
class Clock:
    """Moves on by itself with every look, and with every pause. killed_at: the look that never returns."""

    now: datetime = NOW
    step_s: float = 0.5
    killed_at: int | None = None
    looks: int = 0
    when_looked: Callable[[int], None] = field(default=lambda look: None)

    def __call__(self) -> datetime:
        self.looks += 1
        if self.looks == self.killed_at:
            raise Killed
        self.when_looked(self.looks)
        self.now += timedelta(seconds=self.step_s)
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@dataclass
class Scene:
    cluster: Cluster
    caller: Caller
    pgpools: list[FakePgpool]
    confs: list[Path]

    @property
    def instances(self) -> list[PgpoolInstance]:
        return list(self.cluster.instances.order_by("name"))

    def request(self, weights: object = NEW_WEIGHTS, **wanted: Any) -> Rollout:
        return weight_change.request_weights(
            caller=self.caller, cluster=self.cluster, weights=weights, now=NOW, **wanted
        )

    def advance(self, rollout: Rollout, *, clock: Clock | None = None, holder: str = "worker") -> Rollout:
        clock = clock or Clock()
        rollouts.advance(rollout_id=rollout.pk, holder=holder, clock=clock, sleep=clock.sleep)
        rollout.refresh_from_db()
        return rollout

    def edit_by_hand(self) -> None:
        """The file of pgpool-2, which a first request has made known."""
        Rollout.objects.filter(pk=self.request().pk).update(state="cancelled")
        conf = self.confs[1]
        conf.write_text(conf.read_text().replace("delay_threshold = 1000", "delay_threshold = 5"))

    def turns_away(self, rollout: Rollout, number: int = 1) -> Callable[[int], None]:
        """For when_looked: this pgpool lets nobody in any more once it is given its file, until what halts then."""

        def turn_away(look: int) -> None:
            given = rollout.steps.filter(position=number, is_touched=True, rollout__is_halting=False)
            if given.exists():
                self.pgpools[number].mode = "refuse"

        return turn_away

    def states(self, rollout: Rollout) -> list[str]:
        return list(rollout.steps.order_by("position").values_list("state", flat=True))

    def texts(self) -> list[str]:
        return [conf.read_text() for conf in self.confs]

    def weights(self) -> list[dict[int, float]]:
        return [pgpool.weights for pgpool in self.pgpools]


@contextmanager
def scene(directory: Path, settings: Any, *, pgpools: int = 3) -> Iterator[Scene]:
    settings.LOCAL_DELIVERY_DIRECTORIES = [DeliveryDirectory(None, directory)]
    organisation = Organisation.objects.create(slug="acme", name="Acme")
    user = User.objects.create_user("ann@acme.example", name="Ann")
    Membership.objects.create(organisation=organisation, user=user, role="operator")
    cluster = Cluster.objects.create(
        organisation=organisation, slug="orders", name="Orders", username="lifeguard", password="secret"
    )
    for backend in three_backends():
        Backend.objects.create(
            cluster=cluster, node_id=backend.node_id, hostname=backend.hostname, port=backend.port,
            application_name=f"pg{backend.node_id + 1}",
        )  # fmt: skip
    with ExitStack() as stack:
        found = Scene(cluster, Caller(user, organisation, "operator"), [], [])
        for number in range(1, pgpools + 1):
            conf = directory / f"pgpool-{number}.conf"
            conf.write_text(conf_text())
            pgpool = stack.enter_context(FakePgpool(conf=conf).running())
            PgpoolInstance.objects.create(
                cluster=cluster, name=f"pgpool-{number}", host=pgpool.host, port=pgpool.port,
                pcp_port=pgpool.pcp_port, pcp_username=pgpool.pcp_username, pcp_password=pgpool.pcp_password,
                delivery_kind="local", delivery_path=str(conf), delivery_target=str(conf),
            )  # fmt: skip
            found.pgpools.append(pgpool)
            found.confs.append(conf)
        yield found
