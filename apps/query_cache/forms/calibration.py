"""The form of a calibration: what is read, where it is cached, and for how long."""

from __future__ import annotations

from typing import Any

from django import forms

from apps.benchmarks.domain.cache_calibration import BOTH, HOT_KEYS
from apps.benchmarks.domain.cache_sql import LOOK_UP, TOUCH
from apps.benchmarks.domain.cache_writes import WRITES_UP_TO
from apps.benchmarks.domain.run_wish import WishRefused
from apps.benchmarks.domain.scratch_conf import MEMCACHED, SHMEM
from apps.clusters.forms.refusals import sentence

STORAGES = ((SHMEM, "shared memory"), (MEMCACHED, "memcached"), (BOTH, "both, side by side"))
_NUMBER = {"class": "in", "autocomplete": "off"}


def _number(label: str, initial: int | None, hint: str = "", **bounds: Any) -> forms.IntegerField:
    bounds = {"min_value": 1, **bounds}
    return forms.IntegerField(label=label, initial=initial, help_text=hint, widget=forms.NumberInput(_NUMBER), **bounds)


class CalibrationForm(forms.Form):
    storage = forms.ChoiceField(label="Cached in", choices=STORAGES, widget=forms.Select({"class": "in"}))
    sql = forms.CharField(
        label="The SELECT that is measured",
        initial=LOOK_UP,
        max_length=5000,
        help_text="one SELECT by :key; the usual one is that of pgbench -S",
        widget=forms.Textarea({"class": "in mono", "rows": 3, "spellcheck": "false"}),
    )
    key_space = _number("Keys from 1 to", None, "empty: the 100,000 accounts of pgbench", required=False)
    hot_keys = _number("Hot keys", HOT_KEYS.default, "asked for again and again", max_value=100_000)
    clients = _number("Clients", 4)
    duration_s = _number("Seconds", 180, "3 min give a key look-up to about ± 4 points")

    writes_up_to_per_s = _number(
        "Writes per second, up to",
        None,
        "empty: none are made",
        required=False,
        min_value=WRITES_UP_TO.least,
        max_value=WRITES_UP_TO.most,
    )
    write_sql = forms.CharField(
        label="The write to the same table",
        required=False,
        max_length=5000,
        help_text=f"empty beside the usual SELECT: {TOUCH}",
        widget=forms.TextInput({"class": "in mono", "spellcheck": "false", "autocomplete": "off"}),
    )

    def wanted(self) -> dict[str, Any]:
        """As runs.request takes it, beside the workload and the topology."""
        given = dict(self.cleaned_data)
        found = {"clients": given.pop("clients"), "duration_s": given.pop("duration_s")}
        return {**found, "parameters": {name: value for name, value in given.items() if value not in {None, ""}}}

    def refuse(self, error: WishRefused) -> None:
        name = error.field.removeprefix("parameters.")
        self.add_error(name if name in self.fields else None, sentence(error.expected))
