"""Rates that others printed, shown beside the arms of a comparison: to be looked at, and judged by nobody."""

from __future__ import annotations

from decimal import Decimal
from typing import TypedDict

from apps.accounts.access import Caller
from apps.benchmarks.domain.imported import Role
from apps.benchmarks.models import BenchmarkImport
from apps.benchmarks.queries.imports import ImportDetail, ResultAnswer, detail_answer, imports_of

MOST_RESULTS, MOST_CHOICES = 50, 100


class BesideAnswer(TypedDict):
    """An imported result with a rate in tps. imported: id of the import. printed: its rate, digit by digit.

    share: of the typical rate of the shown baseline; null while that has none. runs: that the source says it is of.
    latency_ms: its mean latency as printed. sentence: what it is, and that it carries no verdict.
    """

    imported: int
    imported_name: str
    name: str
    topology: str | None
    clients: int | None
    runs: int | None
    printed: str
    tps: float
    share: float | None
    latency_ms: str | None
    sentence: str


def choices(*, caller: Caller) -> list[tuple[int, str]]:
    """(id, name) of what can be shown beside a comparison, latest first."""
    return list(imports_of(caller=caller).values_list("pk", "name")[:MOST_CHOICES])


def rows(imported: BenchmarkImport | None, *, baseline_tps: float | None) -> list[BesideAnswer]:
    """Those of its results that have a rate in tps; the first fifty."""
    if imported is None:
        return []
    detail = detail_answer(imported)
    found = (_row(detail, one, baseline_tps) for one in detail["results"])
    return [one for one in found if one is not None][:MOST_RESULTS]


def _row(detail: ImportDetail, result: ResultAnswer, baseline_tps: float | None) -> BesideAnswer | None:
    printed, tps = _figure(detail, result, Role.TPS)
    if tps is None or tps <= 0:
        return None
    return {
        "imported": detail["id"],
        "imported_name": detail["name"],
        "name": result["name"],
        "topology": result["topology"],
        "clients": result["clients"],
        "runs": result["runs"],
        "printed": printed,
        "tps": float(tps),
        "share": float(tps) / baseline_tps if baseline_tps else None,
        "latency_ms": _figure(detail, result, Role.LATENCY_MEAN)[0] or None,
        "sentence": _sentence(result["runs"]),
    }


def _figure(detail: ImportDetail, result: ResultAnswer, role: Role) -> tuple[str, Decimal | None]:
    """As printed, and as a number; ("", None) where it has none."""
    columns = {one["name"] for one in detail["columns"] if one["role"] == role}
    for figure in result["figures"]:
        if figure["column"] in columns and figure["number"] is not None:
            return figure["printed"], Decimal(figure["number"])
    return "", None


def _sentence(runs: int | None) -> str:
    what = f"one number of {runs} runs" if runs is not None and runs > 1 else "one number"
    return f"Imported: {what} as it was printed, without an interval, so it is called neither faster nor slower."
