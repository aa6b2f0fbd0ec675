"""A cluster as somebody describes it, in a form, by REST or by a command. Nothing here has been looked at yet."""

from __future__ import annotations

from dataclasses import dataclass, field

# More than any cluster has. Each is asked when it is registered; pgpool itself knows at most 128 backends.
MOST_PGPOOLS = 64
MOST_BACKENDS = 128


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


def too_many(*, pgpools: int, backends: int) -> dict[str, str]:
    """Field of the input -> why this many are refused, before any of them is asked."""
    errors = {}
    if pgpools > MOST_PGPOOLS:
        errors["pgpools"] = f"a cluster can have {MOST_PGPOOLS} pgpools at most, these are {pgpools}"
    if backends > MOST_BACKENDS:
        errors["backends"] = f"a cluster can have {MOST_BACKENDS} backends at most, these are {backends}"
    return errors
