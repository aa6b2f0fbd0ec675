"""What pgpools owe: revisions that went to the others while nobody could reach these."""

from django.db import models
from django.db.models import Q

from apps.clusters.models.registry import PgpoolInstance
from apps.clusters.models.rollout import RolloutStep


class RevisionDebt(models.Model):
    """One pgpool that owes one revision; the file is that of its step. At most one debt of a pgpool is open."""

    class State(models.TextChoices):
        OPEN = "open", "open"
        SETTLED = "settled", "given"  # by a rollout of its own
        SUPERSEDED = "superseded", "superseded"  # a newer rollout wrote there, or is owed in its place
        TAKEN_BACK = "taken_back", "taken back"  # the rollout was rolled back on the others
        FORGIVEN = "forgiven", "let go"

    class OnReturn(models.TextChoices):
        GIVE = "give", "give it"
        ASK = "ask", "ask"

    instance = models.ForeignKey(PgpoolInstance, on_delete=models.CASCADE, related_name="debts")
    step = models.OneToOneField(RolloutStep, on_delete=models.CASCADE, related_name="debt")
    state = models.CharField(max_length=10, choices=State.choices, default=State.OPEN)
    on_return = models.CharField(max_length=4, choices=OnReturn.choices)
    needs_person = models.BooleanField(default=False, help_text="it is not given without somebody who says so")
    reason = models.TextField(blank=True, help_text="what kept it from being given latest")
    tries = models.PositiveSmallIntegerField(default=0, help_text="rollouts that were to give it, and did not")
    retry_at = models.DateTimeField(null=True, blank=True, help_text="null: at once")
    owed_at = models.DateTimeField()
    returned_at = models.DateTimeField(
        null=True, blank=True, help_text="when the pgpool was first seen to answer again"
    )
    closed_at = models.DateTimeField(null=True, blank=True)
    closed_by_name = models.CharField(max_length=254, blank=True, help_text="empty where nobody had to say so")
    superseded_by = models.ForeignKey(
        "self", on_delete=models.SET_NULL, null=True, blank=True, related_name="earlier", help_text="owed in its place"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["instance"], condition=Q(state="open"), name="revision_debt_one_open")
        ]

    def __str__(self) -> str:
        return f"debt of {self.instance_id}, {self.state}"
