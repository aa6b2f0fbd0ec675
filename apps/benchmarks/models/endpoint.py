"""Places that speak PostgreSQL's protocol and lead to the servers of a cluster: poolers, routers, balancers."""

from django.db import models
from django.db.models import Q

from apps.benchmarks.domain.topologies import place_of
from apps.clusters.models import Cluster


class BenchmarkEndpoint(models.Model):
    """One of them, as a place that the load of benchmarks can go to. Lifeguard watches none of them."""

    class Kind(models.TextChoices):
        POOLER = "pooler", "pooler"  # as PgBouncer, Odyssey
        ROUTER = "router", "router"  # as SPQR: it reads statements, and may lead to other servers than the cluster's
        BALANCER = "balancer", "balancer"  # as HAProxy: it passes bytes on
        OTHER = "other", "other"

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="benchmark_endpoints")
    name = models.CharField(max_length=63, help_text="as people call it; runs name it for good")
    host = models.CharField(max_length=253)
    port = models.PositiveIntegerField()
    kind = models.CharField(
        max_length=10,
        choices=Kind.choices,
        default=Kind.POOLER,
        help_text="pooler, as PgBouncer; router, as SPQR; balancer: passes bytes on, as HAProxy; other",
    )
    takes_writes = models.BooleanField(default=True, help_text="its sessions come to the primary")
    most_sessions = models.PositiveIntegerField(
        null=True, blank=True, help_text="that it takes at once, as max_client_conn of PgBouncer; null: not known"
    )
    stands_before_pgpools = models.BooleanField(
        default=False,
        help_text="its sessions come to all pgpools of the cluster; as many fit as if each had the least free children",
    )
    created_at = models.DateTimeField(auto_now_add=True)
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "name"], name="endpoint_name_unique"),
            models.CheckConstraint(condition=Q(port__gte=1, port__lte=65535), name="endpoint_port_range"),
            models.CheckConstraint(
                condition=Q(most_sessions=None) | Q(most_sessions__gte=1), name="endpoint_most_sessions"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def place(self) -> str:
        return place_of(self.host, self.port)
