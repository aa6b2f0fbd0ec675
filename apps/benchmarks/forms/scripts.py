"""Own scripts in a form: a name, a weight and the SQL of each; those that are left empty are none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms

from apps.benchmarks.domain.pgbench_scripts import MOST_SCRIPTS

FEWEST_ROWS = 2
PARTS = ("name", "weight", "sql")


class ScriptsWidget(forms.Widget):
    """One more row than there are scripts, so that there is always room for another."""

    template_name = "benchmarks/_scripts.html"

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context(name, value, attrs)
        given = list(value) if isinstance(value, list) else []
        count = min(MOST_SCRIPTS, max(FEWEST_ROWS, len(given) + 1))
        empty: dict[str, Any] = {"name": "", "weight": 1, "sql": ""}
        context["rows"] = (given + [empty] * count)[: max(count, len(given))]
        return context

    def value_from_datadict(self, data: Mapping[str, Any], files: Any, name: str) -> list[dict[str, Any]]:
        rows = [_row(data, f"{name}_{position}_") for position in range(MOST_SCRIPTS)]
        return [row for row in rows if row["name"] or row["sql"]]


class ScriptsField(forms.Field):
    """As REST takes them; what is wrong with one is told by the workload."""

    widget = ScriptsWidget


def _row(data: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    name, weight, sql = (str(data.get(f"{prefix}{part}", "")) for part in PARTS)
    # A browser ends lines with CR LF.
    row: dict[str, Any] = {"name": name.strip(), "sql": sql.replace("\r\n", "\n") if sql.strip() else ""}
    row["weight"] = int(weight) if weight.isascii() and weight.isdigit() and len(weight) < 10 else weight or 1
    return row
