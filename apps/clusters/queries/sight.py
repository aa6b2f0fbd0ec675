"""Everything that was seen of clusters latest, read in a fixed number of statements for any number of clusters."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from apps.clusters.domain import drift_words
from apps.clusters.models import (
    Backend,
    BackendLatest,
    Cluster,
    InstanceConfig,
    InstanceLatest,
    NodeLatest,
    PgpoolInstance,
)
from apps.clusters.queries import debts

# pgpool calls a backend "waiting" that is up and has no pooled connection yet.
UP = {"up", "waiting"}


@dataclass(frozen=True)
class InstanceSight:
    """A pgpool and what was seen of it; latest is None until it is first polled.

    drift: how its file was edited; owes: which revision it owes, in a sentence. Empty where it is not so.
    """

    instance: PgpoolInstance
    latest: InstanceLatest | None
    drift: str = ""
    owes: str = ""

    @property
    def is_answering(self) -> bool:
        return self.latest is not None and self.latest.state == InstanceLatest.State.ANSWERING

    @property
    def is_renumbered(self) -> bool:
        """Whether its numbers mean other backends than the cluster's: nothing that it tells by number is of use."""
        return self.latest is not None and self.latest.state == InstanceLatest.State.RENUMBERED


@dataclass(frozen=True)
class BackendSight:
    """A backend, what it says itself, and how each pgpool sees it."""

    backend: Backend
    latest: BackendLatest | None
    nodes: Sequence[NodeLatest]

    @property
    def name(self) -> str:
        return self.backend.shown_name

    @property
    def is_up(self) -> bool:
        """Whether some pgpool would send reads there; unknown counts as up."""
        return not self.nodes or any(node.status in UP for node in self.nodes)

    @property
    def role(self) -> str:
        """What PostgreSQL says of itself; what pgpool believes where that is not known."""
        if self.latest is not None and self.latest.is_in_recovery is not None:
            return "standby" if self.latest.is_in_recovery else "primary"
        return self.nodes[0].role if self.nodes else "unknown"

    @property
    def status(self) -> str:
        """The pgpools' common belief, or how many of them see it up. One that waits for its first session is up."""
        found = ["up" if node.status in UP else node.status for node in self.nodes]
        if len(set(found)) == 1:
            return found[0]
        return f"up at {found.count('up')} of {len(found)} pgpools" if found else "not seen yet"

    @property
    def lag_bytes(self) -> int | None:
        """From the primary itself; where that is not known, the worst that a pgpool saw."""
        if self.role == "primary":
            return None
        if self.latest is not None and self.latest.replay_lag_bytes is not None:
            return self.latest.replay_lag_bytes
        seen = [node.replication_delay_bytes for node in self.nodes if node.replication_delay_bytes is not None]
        return max(seen, default=None)

    @property
    def lag_s(self) -> float | None:
        """As lag_bytes."""
        if self.role == "primary":
            return None
        if self.latest is not None and self.latest.replay_lag_s is not None:
            return self.latest.replay_lag_s
        seen = [node.replication_delay_s for node in self.nodes if node.replication_delay_s is not None]
        return max(seen, default=None)


@dataclass(frozen=True)
class Sight:
    """One cluster as it was seen latest: its pgpools by name, its backends by node_id."""

    cluster: Cluster
    instances: Sequence[InstanceSight]
    backends: Sequence[BackendSight]

    @property
    def seen_at(self) -> datetime | None:
        """When a pgpool answered latest."""
        answered = [one.latest.answered_at for one in self.instances if one.latest and one.latest.answered_at]
        return max(answered, default=None)

    @property
    def polled_at(self) -> datetime | None:
        return max((one.latest.polled_at for one in self.instances if one.latest), default=None)

    @property
    def nodes(self) -> list[NodeLatest]:
        return [node for backend in self.backends for node in backend.nodes]

    def is_lagging(self, backend: BackendSight) -> bool:
        """Over delay_threshold, where pgpool stops sending it reads; 0 switches that off."""
        return bool(self.cluster.delay_threshold.is_exceeded(lag_bytes=backend.lag_bytes, lag_s=backend.lag_s))


def sight_of(cluster: Cluster) -> Sight:
    return sights_of([cluster])[cluster.pk]


def sights_of(clusters: Iterable[Cluster]) -> Mapping[int, Sight]:
    """Cluster id -> what was seen of it."""
    known = {cluster.pk: cluster for cluster in clusters}
    instances: dict[int, list[InstanceSight]] = {pk: [] for pk in known}
    owing = debts.sentences(cluster_ids=list(known))
    pgpools = PgpoolInstance.objects.filter(cluster__in=known).select_related("latest", "config")
    files = ("config__file_text", "config__first_text", "config__running")
    for instance in pgpools.defer("pcp_password", *files).order_by("name", "pk"):
        latest: InstanceLatest | None = getattr(instance, "latest", None)
        instances[instance.cluster_id].append(
            InstanceSight(instance, latest, _drift(instance), owing.get(instance.pk, ""))
        )
    nodes: dict[tuple[int, int], list[NodeLatest]] = {}
    seen = NodeLatest.objects.filter(instance__cluster__in=known).select_related("instance")
    for node in seen.defer("instance__pcp_password").order_by("instance__name", "instance_id"):
        nodes.setdefault((node.instance.cluster_id, node.node_id), []).append(node)
    backends: dict[int, list[BackendSight]] = {pk: [] for pk in known}
    for backend in Backend.objects.filter(cluster__in=known).select_related("latest").order_by("node_id"):
        found = nodes.get((backend.cluster_id, backend.node_id), [])
        backends[backend.cluster_id].append(BackendSight(backend, getattr(backend, "latest", None), found))
    return {pk: Sight(cluster, instances[pk], backends[pk]) for pk, cluster in known.items()}


def _drift(instance: PgpoolInstance) -> str:
    config: InstanceConfig | None = getattr(instance, "config", None)
    if config is None or config.state != InstanceConfig.State.DRIFTED:
        return ""
    return drift_words.headline(instance.name, config.differences)
