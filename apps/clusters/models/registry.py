"""What is registered: a cluster, its pgpool instances and the backends behind them."""

from django.db import models
from django.db.models import Q

from apps.accounts.encryption import EncryptedTextField
from apps.accounts.models import Organisation, User
from apps.clusters.domain.lag import DelayThreshold

port_range = Q(port__gte=1, port__lte=65535)


class Cluster(models.Model):
    """PostgreSQL backends behind one or more pgpool instances that number them alike."""

    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="clusters")
    slug = models.SlugField(max_length=60, help_text="its name in addresses; unique in the organisation")
    name = models.CharField(max_length=120)
    username = models.CharField(max_length=63, help_text="monitoring role on pgpool and on every backend")
    password = EncryptedTextField(help_text="of the monitoring role; never shown again")
    sslmode = models.CharField(
        max_length=11,
        default="prefer",
        choices=[(mode, mode) for mode in ("disable", "prefer", "require", "verify-ca", "verify-full")],
        help_text="TLS towards pgpool and backends, as libpq names it",
    )
    is_observe_only = models.BooleanField(default=False, help_text="watched, and never written to")
    has_synthetic_azs = models.BooleanField(default=False, help_text="the AZs are made up: all runs on one machine")
    is_statement_level = models.BooleanField(
        default=False, help_text="statement_level_load_balance as the pgpools showed it latest"
    )
    delay_threshold_bytes = models.BigIntegerField(
        null=True, blank=True, help_text="as pgpool showed it; 0 ignores lag"
    )
    delay_threshold_s = models.FloatField(
        null=True, blank=True, help_text="delay_threshold_by_time of Pgpool-II 4.4 and up; above 0 only it counts"
    )
    primary_node_id = models.PositiveSmallIntegerField(
        null=True, blank=True, help_text="the primary that the answering pgpools agreed on latest"
    )
    watchdog = models.JSONField(
        default=dict,
        blank=True,
        help_text="what the watchdogs agreed on latest: leader, has_quorum, gone; {} for nothing",
    )
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["organisation", "slug"], name="cluster_slug_unique")]

    def __str__(self) -> str:
        return self.slug

    @property
    def delay_threshold(self) -> DelayThreshold:
        return DelayThreshold(self.delay_threshold_bytes, self.delay_threshold_s)

    @property
    def is_observed(self) -> bool:
        """Whether it, its organisation or a pgpool of it is observe only, so that nothing can be changed from here."""
        if self.is_observe_only or self.organisation.is_observe_only:
            return True
        return self.instances.filter(delivery_kind=PgpoolInstance.Delivery.OBSERVE).exists()


class PgpoolInstance(models.Model):
    """One running pgpool: where it listens, its PCP port, and how its configuration is delivered."""

    class Delivery(models.TextChoices):
        OBSERVE = "observe", "observe only"  # never written
        LOCAL = "local", "local file"  # the worker writes pgpool.conf in an allowed directory
        SSH = "ssh", "SSH"  # a script on the pgpool's host writes it
        MANUAL = "manual", "by hand"  # published here; whoever fetches it applies it

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="instances")
    name = models.CharField(max_length=80, help_text="as pgpool-1; unique in the cluster")
    host = models.CharField(max_length=253)
    port = models.PositiveIntegerField()
    az = models.CharField(max_length=40, blank=True, help_text="availability zone, as us-east-1a")
    pcp_port = models.PositiveIntegerField(null=True, blank=True)
    pcp_username = models.CharField(max_length=63, blank=True)
    pcp_password = EncryptedTextField(blank=True, default="")
    delivery_kind = models.CharField(max_length=10, choices=Delivery.choices, default=Delivery.OBSERVE)
    delivery_path = models.CharField(max_length=1000, blank=True, help_text="pgpool.conf, as it was registered")
    delivery_target = models.CharField(
        max_length=1000, null=True, blank=True, help_text="the same with links resolved: one writer per file"
    )
    ssh_host = models.CharField(max_length=253, blank=True, help_text="where sshd answers; of SSH delivery only")
    ssh_port = models.PositiveIntegerField(default=22)
    ssh_username = models.CharField(max_length=63, blank=True)
    ssh_host_key = models.CharField(
        max_length=2000, blank=True, help_text="as in known_hosts: ssh-ed25519 AAAA…; no other is talked to"
    )
    has_sudo = models.BooleanField(default=False, help_text="the script on the pgpool's host runs by sudo")
    longest_wait_h = models.PositiveSmallIntegerField(
        default=24, help_text="hours that a rollout waits for a published file to be applied"
    )
    restart_command = models.CharField(
        max_length=60,
        blank=True,
        help_text="of local delivery: the name of one that the installation allows; of SSH: script; empty: by hand",
    )
    version = models.CharField(max_length=40, blank=True, help_text="as 4.3.5; empty while unknown")
    shown_weights = models.JSONField(
        default=dict, blank=True, help_text='backend_weight as PGPOOL SHOW printed it latest, as {"0": 0, "1": 500}'
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "name"], name="instance_name_unique"),
            models.UniqueConstraint(fields=["cluster", "host", "port"], name="instance_address_unique"),
            models.UniqueConstraint(fields=["delivery_target"], name="instance_file_unique"),
            models.CheckConstraint(condition=port_range, name="instance_port_range"),
            models.CheckConstraint(condition=Q(pcp_port__gte=1, pcp_port__lte=65535), name="instance_pcp_port_range"),
            models.CheckConstraint(
                condition=Q(delivery_kind__in=["observe", "manual"], delivery_path="", delivery_target=None)
                | (Q(delivery_kind__in=["local", "ssh"], delivery_target__isnull=False) & ~Q(delivery_path="")),
                name="instance_delivery_whole",
            ),
            models.CheckConstraint(
                condition=~Q(delivery_kind="ssh") | ~(Q(ssh_host="") | Q(ssh_username="") | Q(ssh_host_key="")),
                name="instance_ssh_whole",
            ),
            models.CheckConstraint(condition=Q(ssh_port__gte=1, ssh_port__lte=65535), name="instance_ssh_port_range"),
            models.CheckConstraint(
                condition=Q(restart_command="")
                | Q(delivery_kind="ssh", restart_command="script")
                | (Q(delivery_kind="local") & ~Q(restart_command="script")),
                name="instance_restart_of_its_delivery",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Backend(models.Model):
    """A PostgreSQL server behind the pgpools, known by its node_id. Its colour and its series go by that number."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="backends")
    node_id = models.PositiveSmallIntegerField()
    hostname = models.CharField(max_length=253, help_text="as pgpool reaches it")
    port = models.PositiveIntegerField()
    direct_host = models.CharField(max_length=253, blank=True, help_text="as Lifeguard reaches it, where that differs")
    direct_port = models.PositiveIntegerField(null=True, blank=True)
    application_name = models.CharField(max_length=64, blank=True, help_text="backend_application_name of pgpool.conf")
    az = models.CharField(max_length=40, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "node_id"], name="backend_node_unique"),
            models.CheckConstraint(condition=port_range, name="backend_port_range"),
            models.CheckConstraint(
                condition=Q(direct_port__gte=1, direct_port__lte=65535), name="backend_direct_port_range"
            ),
        ]

    def __str__(self) -> str:
        return self.shown_name

    @property
    def shown_name(self) -> str:
        return self.application_name or f"{self.hostname}:{self.port}"

    @property
    def asked_host(self) -> str:
        return self.direct_host or self.hostname

    @property
    def asked_port(self) -> int:
        return self.direct_port or self.port
