"""The forms that begin a comparison, and a campaign of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from django import forms

from apps.benchmarks.domain.comparison_plan import CLIENTS, PGPOOLS, PlanRefused
from apps.benchmarks.domain.run_wish import Limits, WishRefused
from apps.benchmarks.domain.topology_choice import Choice
from apps.benchmarks.domain.workload_parameters import WholeNumber
from apps.benchmarks.domain.workloads import Workload
from apps.benchmarks.forms.run import RunForm, number
from apps.clusters.forms.refusals import sentence

_TOPOLOGIES = ""


class ComparisonForm(RunForm):
    """Arms are the topologies that are ticked, or one of them at several places of a sweep."""

    topology = forms.MultipleChoiceField(
        label="Where the load goes",
        error_messages={"required": "Tick where the load goes.", "invalid_choice": "This cannot be chosen now."},
    )
    over = forms.ChoiceField(label="What differs", required=False, widget=forms.Select({"class": "in"}))
    places = forms.CharField(
        label="At",
        required=False,
        max_length=200,
        help_text="of a sweep: numbers with commas between them, as 1, 2, 4, 8; empty for pgpools",
        widget=forms.TextInput({"class": "in", "autocomplete": "off", "inputmode": "numeric"}),
    )
    repetitions = number("Repetitions", least=2)
    name = forms.CharField(
        label="Name",
        max_length=200,
        required=False,
        help_text="empty: what is compared",
        widget=forms.TextInput({"class": "in", "autocomplete": "off"}),
    )

    def __init__(
        self,
        data: Mapping[str, Any] | None = None,
        *,
        workload: Workload,
        choices: Sequence[Choice],
        limits: Limits,
        like: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(data, workload=workload, choices=choices, limits=limits, like=like)
        possible = [choice.topology.key for choice in choices if not choice.why_not]
        self.initial = {"repetitions": 6, "over": _TOPOLOGIES, **self.initial, "topology": _usual(possible)}
        cast("forms.MultipleChoiceField", self.fields["topology"]).choices = [(key, key) for key in possible]
        cast("forms.ChoiceField", self.fields["over"]).choices = [
            (_TOPOLOGIES, "where the load goes: every place that is ticked"),
            *([] if workload.sessions else [(CLIENTS, "clients: a sweep at the first place that is ticked")]),
            (PGPOOLS, "pgpools: a sweep over how many take the load"),
            *(
                (f"parameters.{one.name}", f"{one.name}: a sweep at the first place that is ticked")
                for one in _swept(workload)
            ),
        ]
        self.fields["repetitions"].help_text = "of every arm; one block more is measured first and set apart"
        del self.fields["note"]

    @property
    def topology_rows(self) -> list[tuple[Choice, bool]]:
        chosen = self["topology"].value() or []
        return [(choice, choice.topology.key in chosen and not choice.why_not) for choice in self.choices]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        over, ticked = cleaned.get("over"), cleaned.get("topology") or []
        if over and over != PGPOOLS:
            cleaned["places"] = self._numbers(cleaned.get("places", ""))
        if not over and len(ticked) == 1 and not self.errors:
            self.add_error("topology", "Tick two places or more, or sweep over something.")
        return cleaned

    def _numbers(self, text: str) -> list[int]:
        parts = [part for part in text.replace(";", ",").replace(" ", ",").split(",") if part]
        if all(part.isdecimal() and len(part) < 10 for part in parts) and len(parts) >= 3:
            return [int(part) for part in parts]
        self.add_error("places", "Give three whole numbers or more, with commas between them.")
        return []

    def wanted_comparison(self) -> dict[str, Any]:
        """As comparisons.request takes it."""
        cleaned = self.cleaned_data
        shared = {**self.wanted(), "topology": cleaned["topology"][0]}
        del shared["note"]
        return {
            "arms": self._arms(shared, cleaned["over"]),
            "over": cleaned["over"],
            "repetitions": cleaned["repetitions"],
            "name": cleaned["name"],
        }

    def _arms(self, shared: dict[str, Any], over: str) -> list[dict[str, Any]]:
        if over == PGPOOLS:
            return [{**shared, "topology": key} for key in self._numbers_of_pgpools()]
        if over == CLIENTS:
            return [{**shared, "clients": place} for place in self.cleaned_data["places"]]
        if over:
            name = over.partition(".")[2]
            places = self.cleaned_data["places"]
            return [{**shared, "parameters": {**shared["parameters"], name: place}} for place in places]
        return [{**shared, "topology": key} for key in self.cleaned_data["topology"]]

    def _numbers_of_pgpools(self) -> list[str]:
        """One, the first two, … all of them."""
        keys = [choice.topology.key for choice in self.choices]
        one = next((key for key in keys if key.startswith("pgpool:")), None)
        return [*([one] if one else []), *(key for key in keys if key.split(":")[0] == PGPOOLS)]

    def refuse(self, error: WishRefused | PlanRefused) -> None:
        field = error.field
        if field.startswith("arms."):
            _, position, inner = field.split(".", 2)
            said = str(error).removeprefix(f"{field}: ")
            return super().refuse(
                WishRefused(inner, error.value, f"{_expected(said, error)} (arm {int(position) + 1})")
            )
        said = sentence(str(error).removeprefix(f"{field}: "))
        self.add_error(field if field in self.fields else None, said)
        return None


class CampaignForm(ComparisonForm):
    """The same, again and again."""

    cron = forms.CharField(
        label="When, UTC",
        max_length=100,
        help_text="minute hour day month weekday, as 0 2 * * * for every night at 02:00; day and weekday both hold",
        widget=forms.TextInput({"class": "in mono", "autocomplete": "off", "spellcheck": "false"}),
    )
    window_min = number("Window, min", least=1)
    budget_min = number("Budget of load, min", least=1)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.initial = {"cron": "0 2 * * *", "window_min": 120, "budget_min": 60, **self.initial}
        self.fields["name"].required = True
        self.fields["name"].help_text = "as Nightly reads"
        self.fields["window_min"].help_text = "after so many minutes no run of a round begins any more"
        self.fields["budget_min"].help_text = "of load that one round may make"

    def wanted_campaign(self) -> dict[str, Any]:
        """As campaigns.create takes it."""
        cleaned = self.cleaned_data
        return {
            **self.wanted_comparison(),
            "cron": cleaned["cron"],
            "window_min": cleaned["window_min"],
            "budget_min": cleaned["budget_min"],
        }


def _swept(workload: Workload) -> list[WholeNumber]:
    return [one for one in workload.parameters.values() if isinstance(one, WholeNumber)]


def _usual(possible: Sequence[str]) -> list[str]:
    """The primary and what stands in front of it."""
    wanted = [key for key in possible if key == "primary" or key.startswith("pgpool:")][:2]
    return [*wanted, *(key for key in possible if key == PGPOOLS)]


def _expected(said: str, error: WishRefused | PlanRefused) -> str:
    return said.removeprefix(f"{str(error.value)[:80]!r} ")
