"""Forms of the settings pages."""

from datetime import datetime, timedelta

from django import forms

from apps.accounts.models import ApiToken

LIVES = [("7", "7 days"), ("30", "30 days"), ("90", "90 days"), ("365", "1 year")]


class TokenForm(forms.Form):
    """What a new token is for, what it may do, and for how long."""

    name = forms.CharField(max_length=80, label="What will use it")
    scope = forms.ChoiceField(
        choices=[
            (ApiToken.Scope.READ.value, "read: changes nothing"),
            (ApiToken.Scope.WRITE.value, "write: all that you may"),
        ],
        label="What it may do",
    )
    life_days = forms.ChoiceField(choices=LIVES, initial="90", label="How long it works")

    def expires_at(self, now: datetime) -> datetime:
        return now + timedelta(days=int(self.cleaned_data["life_days"]))


class AuditFilterForm(forms.Form):
    """Which rows of the audit trail to show."""

    action = forms.CharField(required=False, max_length=60, label="Action begins with")
    target = forms.CharField(required=False, max_length=200, label="Target contains")
