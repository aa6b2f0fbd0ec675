"""A cluster as somebody describes it, in a form, by REST or by a command. Nothing here has been looked at yet."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class PcpWanted:
    port: int
    username: str
    password: str = field(repr=False)


@dataclass(frozen=True)
class DeliveryWanted:
    """kind: observe or local; path: of pgpool.conf, for local."""

    kind: str
    path: str = ""


OBSERVE = DeliveryWanted("observe")


@dataclass(frozen=True)
class PgpoolWanted:
    host: str
    port: int
    name: str = ""
    az: str = ""
    pcp: PcpWanted | None = None
    delivery: DeliveryWanted = OBSERVE


@dataclass(frozen=True)
class BackendWanted:
    """host, port: where Lifeguard reaches the backend, if pgpool reaches it elsewhere."""

    node_id: int
    host: str = ""
    port: int | None = None
    az: str = ""


@dataclass(frozen=True)
class ClusterWanted:
    """slug: made from the name when empty."""

    name: str
    username: str
    password: str = field(repr=False)
    pgpools: tuple[PgpoolWanted, ...]
    slug: str = ""
    sslmode: str = "prefer"
    backends: tuple[BackendWanted, ...] = ()
    has_synthetic_azs: bool = False
