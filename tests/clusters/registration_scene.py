"""Pgpools that can be registered: fake ones, each with a pgpool.conf of its own in an allowed directory."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from apps.clusters.registry.registration import BackendWanted, ClusterWanted, DeliveryWanted, PcpWanted, PgpoolWanted
from controlplane.environment import DeliveryDirectory
from tests.fake_pgpool import FakePgpool
from tests.fake_show import FakeBackend, three_backends

SECRET = "secret"


@dataclass(frozen=True)
class Scene:
    folder: Path
    pgpools: tuple[FakePgpool, ...]

    def pgpool(self, number: int = 0, **changes: Any) -> PgpoolWanted:
        fake = self.pgpools[number]
        wanted = PgpoolWanted(
            host=fake.host,
            port=fake.port,
            az="us-east-1a",
            pcp=PcpWanted(fake.pcp_port, fake.pcp_username, fake.pcp_password),
            delivery=DeliveryWanted("local", str(fake.conf)),
        )
        return replace(wanted, **changes)

    def wanted(self, **changes: Any) -> ClusterWanted:
        cluster = ClusterWanted(
            name="Orders",
            username="lifeguard",
            password=SECRET,
            pgpools=tuple(self.pgpool(number) for number in range(len(self.pgpools))),
            backends=(BackendWanted(1, az="us-east-1b"),),
        )
        return replace(cluster, **changes)


@contextmanager
def pgpools_running(folder: Path, settings: Any, count: int = 2) -> Iterator[Scene]:
    """settings: pytest-django's, which gets the folder as an allowed directory."""
    settings.LOCAL_DELIVERY_DIRECTORIES = [DeliveryDirectory(None, folder)]
    with ExitStack() as stack:
        pgpools = tuple(
            stack.enter_context(fake_with_file(folder / f"pgpool-{number + 1}", three_backends()).running())
            for number in range(count)
        )
        yield Scene(folder, pgpools)


def fake_with_file(folder: Path, backends: Sequence[FakeBackend]) -> FakePgpool:
    folder.mkdir(parents=True)
    conf = folder / "pgpool.conf"
    lines = ["port = 9001", "delay_threshold = 2097152", "num_init_children = 8"]
    for backend in backends:
        lines += [
            f"backend_hostname{backend.node_id} = '{backend.hostname}'",
            f"backend_port{backend.node_id} = {backend.port}",
            f"backend_weight{backend.node_id} = 1",
            f"backend_application_name{backend.node_id} = 'pg{backend.node_id + 1}'",
        ]
    conf.write_text("\n".join(lines) + "\n")
    return FakePgpool(conf=conf, backends=backends)
