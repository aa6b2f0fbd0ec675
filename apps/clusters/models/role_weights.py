"""Weights that go by role, and what is proposed when the roles change."""

from django.db import models
from django.db.models import Q

from apps.accounts.models import User
from apps.clusters.models.debt import RevisionDebt
from apps.clusters.models.registry import Cluster
from apps.clusters.models.rollout import Rollout


class RoleWeights(models.Model):
    """What a cluster wants by role: the primary this share of the reads, its standbys the rest evenly."""

    class Absent(models.TextChoices):
        REFUSE = "refuse", "nothing is rolled out without it"
        OWE = "owe", "it owes the weights"

    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE, related_name="role_weights")
    primary_share = models.DecimalField(max_digits=5, decimal_places=4, help_text="0..1")
    applies_itself = models.BooleanField(
        default=False, help_text="whether a change of roles starts a rollout without a person"
    )
    pause_s = models.PositiveIntegerField(default=600, help_text="least time between two rollouts without a person")
    absent = models.CharField(
        max_length=6, choices=Absent.choices, default=Absent.REFUSE, help_text="of a pgpool that cannot be reached"
    )
    on_return = models.CharField(
        max_length=4,
        choices=RevisionDebt.OnReturn.choices,
        blank=True,
        help_text="of one that owes the weights; empty: as what it owes already, else it is given them",
    )
    # In the name of whom it is applied without a person; nobody's any more when that account is gone.
    changed_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    changed_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(primary_share__gte=0, primary_share__lte=1), name="role_weights_share_in_range"
            ),
            models.CheckConstraint(
                condition=Q(on_return="") | Q(absent="owe"), name="role_weights_only_who_owes_returns"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.cluster_id} {self.primary_share}"


class RoleProposal(models.Model):
    """New weights that a change of roles asks for; one row per change, and one that is open at most."""

    class State(models.TextChoices):
        OPEN = "open", "open"
        APPLIED = "applied", "applied"
        SUPERSEDED = "superseded", "superseded"  # the roles changed once more, or the wish did
        DISMISSED = "dismissed", "dismissed"  # somebody wants the weights as they are

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="role_proposals")
    at = models.DateTimeField(help_text="when the roles changed")
    primary_node_id = models.PositiveSmallIntegerField()
    previous_node_id = models.PositiveSmallIntegerField()
    state = models.CharField(max_length=10, choices=State.choices, default=State.OPEN)
    reason = models.TextField(blank=True, help_text="why it was not applied without a person")
    needs_person = models.BooleanField(default=False, help_text="it is not tried again without one")
    is_automatic = models.BooleanField(default=False, help_text="applied without a person")
    closed_at = models.DateTimeField(null=True, blank=True)
    rollout = models.ForeignKey(Rollout, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster"], condition=Q(state="open"), name="role_proposal_one_open_per_cluster"
            )
        ]

    def __str__(self) -> str:
        return f"{self.cluster_id}: {self.previous_node_id} to {self.primary_node_id} {self.state}"
