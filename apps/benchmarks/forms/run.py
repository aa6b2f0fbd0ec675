"""The form that starts a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from django import forms
from django.http import QueryDict

from apps.benchmarks.domain.run_wish import LONGEST_NOTE, Limits, WishRefused
from apps.benchmarks.domain.topology_choice import Choice
from apps.benchmarks.domain.workloads import WRITES, Workload
from apps.benchmarks.forms import parameters
from apps.benchmarks.forms.scripts import ScriptsField
from apps.clusters.forms.refusals import sentence

MOST = 2**31 - 1
USUAL = {"clients": 4, "duration_s": 60, "warm_up_s": 10}


def number(label: str, *, least: int, required: bool = True) -> forms.IntegerField:
    widget = forms.NumberInput({"class": "in", "autocomplete": "off"})
    return forms.IntegerField(label=label, min_value=least, max_value=MOST, required=required, widget=widget)


class RunForm(forms.Form):
    """Of one cluster and one workload, which are chosen before."""

    topology = forms.ChoiceField(
        label="Where the load goes",
        widget=forms.RadioSelect,
        error_messages={"required": "Choose where the load goes.", "invalid_choice": "This cannot be chosen now."},
    )
    clients = number("Clients", least=1)
    duration_s = number("Measured for, s", least=1)
    warm_up_s = number("Warm-up before it, s", least=0, required=False)
    threads = number("Threads", least=1, required=False)
    note = forms.CharField(
        label="Note",
        max_length=LONGEST_NOTE,
        required=False,
        help_text="what this run is for; may stay empty",
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
        """like: what the fields hold at first, as REST names it; the usual where it is left out."""
        given = dict(like or {})
        usual = {**USUAL, "clients": None} if workload.sessions else USUAL
        initial = {**usual, **given, **parameters.initial_of(workload, given.get("parameters", {}))}
        possible = [choice.topology.key for choice in choices if not choice.why_not]
        if initial.get("topology") not in possible:
            initial["topology"] = possible[0] if possible else None
        super().__init__(data, initial=initial)
        self.workload = workload
        self.choices = choices
        cast("forms.ChoiceField", self.fields["topology"]).choices = [(key, key) for key in possible]
        self.fields["clients"].help_text = f"at most {limits.most_clients:,} on this cluster, where so many fit"
        if workload.sessions is not None:
            self.fields["clients"].required = False
            self.fields["clients"].help_text = "empty: as many as the parameters below make"
        self.fields["duration_s"].help_text = f"with its warm-up at most {limits.most_duration_s:,} s on this cluster"
        self.fields["warm_up_s"].help_text = "load that is in no figure"
        self.fields["threads"].help_text = "empty: one per client, at most four"
        self.fields.update(parameters.fields_of(workload))

    def keep(self, typed: QueryDict) -> None:
        """What was typed before another cluster or workload was chosen, as far as this form asks for it as well."""
        for name, field in self.fields.items():
            given = typed.getlist(name)
            if isinstance(field, forms.ChoiceField):
                given = [value for value in given if field.valid_value(value)]
            if given and not isinstance(field, ScriptsField):
                is_many = isinstance(field, forms.MultipleChoiceField)
                self.initial[name] = given if is_many else given[-1]

    @property
    def topology_rows(self) -> list[tuple[Choice, bool]]:
        """(choice, whether it is chosen)."""
        chosen = self["topology"].value()
        return [(choice, choice.topology.key == chosen and not choice.why_not) for choice in self.choices]

    @property
    def leaves_writing(self) -> bool:
        """Whether a run of this workload says itself if it writes."""
        return WRITES.name in self.workload.parameters

    @property
    def ticks(self) -> list[forms.BoundField]:
        """Parameters that are ticked."""
        return [field for field in self._own if isinstance(field.field, forms.BooleanField)]

    @property
    def typed(self) -> list[forms.BoundField]:
        return [field for field in self._own if isinstance(field.field, forms.IntegerField | forms.ChoiceField)]

    @property
    def scripted(self) -> list[forms.BoundField]:
        return [field for field in self._own if isinstance(field.field, ScriptsField)]

    @property
    def written(self) -> list[forms.BoundField]:
        """Parameters of several lines."""
        return [field for field in self._own if isinstance(field.field.widget, forms.Textarea)]

    @property
    def _own(self) -> list[forms.BoundField]:
        return [self[name] for name in parameters.fields_of(self.workload)]

    def wanted(self) -> dict[str, Any]:
        """As runs.request takes it."""
        cleaned = self.cleaned_data
        values = parameters.values_of(self.workload, cleaned)
        return {
            "workload": self.workload.key,
            "topology": cleaned["topology"],
            "clients": cleaned["clients"],
            "threads": cleaned["threads"],
            "duration_s": cleaned["duration_s"],
            "warm_up_s": cleaned["warm_up_s"] or 0,
            "parameters": values,
            "note": cleaned.get("note", ""),
        }

    def refuse(self, error: WishRefused) -> None:
        """Beside its field; what no field is for, above all of them."""
        name, place = parameters.field_name(error.field), parameters.place_words(error.field)
        said = sentence(str(error).removeprefix(f"{error.field}: "))
        self.add_error(name if name in self.fields else None, sentence(f"{place}: {said}") if place else said)
