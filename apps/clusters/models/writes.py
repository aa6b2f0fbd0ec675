"""Whether Lifeguard may write anything to pgpools: one switch per organisation, one for the whole installation."""

from django.db import models
from django.db.models import Value
from django.db.models.functions import Coalesce

from apps.accounts.models import Organisation, User


class WritesSwitch(models.Model):
    """Who stopped or allowed all writes latest. Without a row they are allowed."""

    organisation = models.ForeignKey(
        Organisation, on_delete=models.CASCADE, null=True, blank=True, related_name="+", help_text="none: all of them"
    )
    is_stopped = models.BooleanField(default=False)
    reason = models.CharField(max_length=300, blank=True)
    changed_at = models.DateTimeField()
    # The switch outlives the person: the name stands in changed_by_name.
    changed_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    changed_by_name = models.CharField(max_length=254)

    class Meta:
        constraints = [
            models.UniqueConstraint(Coalesce("organisation", Value(0)), name="writes_switch_one_per_organisation")
        ]

    def __str__(self) -> str:
        where = "the installation" if self.organisation_id is None else f"organisation {self.organisation_id}"
        return f"writes of {where} {'stopped' if self.is_stopped else 'allowed'}"
