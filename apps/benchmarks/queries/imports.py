"""Imported results as they are shown: as printed, checked, and with derived columns recomputed."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from decimal import Decimal, localcontext
from typing import TypedDict

from django.db.models import QuerySet
from django.http import Http404

from apps.accounts.access import Caller
from apps.benchmarks.domain import checkable, sanity
from apps.benchmarks.domain.imported import Figure, ImportedDocument, ImportedResult, read_document
from apps.benchmarks.domain.imported_differences import Recomputed, recomputed
from apps.benchmarks.domain.pasted import Measured, recognise
from apps.benchmarks.domain.published_examples import published
from apps.benchmarks.domain.run_figures import RunFigures
from apps.benchmarks.models import BenchmarkImport


class ImportSummary(TypedDict):
    """kind: document or output. flagged: checks that fail, derived figures that disagree, marked slips."""

    id: int
    name: str
    kind: str
    note: str
    results_count: int
    flagged: int
    imported_by: str
    created_at: datetime


class SourceAnswer(TypedDict):
    title: str
    origin: str | None
    address: str | None
    published: str | None


class ColumnAnswer(TypedDict):
    """role: what it means to checks, as tps or latency_mean; null for none. unit: "1" for none."""

    name: str
    header: str | None
    unit: str
    meaning: str | None
    role: str | None


class FigureAnswer(TypedDict):
    """printed: with its digits. number: the same as a decimal text; null where it is no number."""

    column: str
    printed: str
    number: str | None
    is_slip: bool
    note: str | None


class ImportedStatementAnswer(TypedDict):
    name: str
    latency_ms: str


class CheckAnswer(TypedDict):
    check: str
    ok: bool
    figure: str
    unit: str
    printed: float
    expected: float
    sentence: str


class ResultAnswer(TypedDict):
    name: str
    topology: str | None
    clients: int | None
    threads: int | None
    duration_s: float | None
    runs: int | None
    figures: list[FigureAnswer]
    statements: list[ImportedStatementAnswer]
    checks: list[CheckAnswer]
    not_checked: list[str]
    note: str | None


class RecomputedAnswer(TypedDict):
    """One figure that the source derived. agrees: within the last printed digit; null where either is no number."""

    result: str
    column: str
    kind: str
    header: str | None
    printed: str
    recomputed: str | None
    agrees: bool | None


class ImportDetail(ImportSummary):
    """conditions: what held for all results. findings: what the source concludes."""

    source: SourceAnswer | None
    conditions: dict[str, str]
    columns: list[ColumnAnswer]
    results: list[ResultAnswer]
    recomputed: list[RecomputedAnswer]
    findings: list[str]
    text: str


class ExampleAnswer(TypedDict):
    key: str
    title: str
    source: SourceAnswer
    results_count: int


def imports_of(*, caller: Caller) -> QuerySet[BenchmarkImport]:
    """Latest first."""
    return BenchmarkImport.objects.filter(organisation=caller.organisation).order_by("-pk")


def import_of(*, caller: Caller, pk: int) -> BenchmarkImport:
    found = imports_of(caller=caller).filter(pk=pk).first()
    if found is None:
        raise Http404(f"{caller.organisation.name} has no import {pk}.")
    return found


def examples() -> list[ExampleAnswer]:
    """Published results that come with Lifeguard."""
    return [
        {"key": key, "title": one.title, "source": _source(one), "results_count": len(one.results)}
        for key, one in published().items()
    ]


def summary_answer(imported: BenchmarkImport) -> ImportSummary:
    return {
        "id": imported.pk,
        "name": imported.name,
        "kind": imported.kind,
        "note": imported.note,
        "results_count": imported.results_count,
        "flagged": imported.flagged,
        "imported_by": imported.imported_by_name,
        "created_at": imported.created_at,
    }


def detail_answer(imported: BenchmarkImport) -> ImportDetail:
    shown = _of_document(read_document(imported.text)) if imported.kind == BenchmarkImport.Kind.DOCUMENT else None
    if shown is None:
        shown = _of_output(recognise(imported.text))
    source, conditions, columns, results, again, findings = shown
    flagged = sum(not check["ok"] for result in results for check in result["checks"])
    flagged += sum(figure["is_slip"] for result in results for figure in result["figures"])
    flagged += sum(is_wrong(one) for one in again)
    return {
        **summary_answer(imported),
        "results_count": len(results),
        "flagged": flagged,
        "source": source,
        "conditions": conditions,
        "columns": columns,
        "results": results,
        "recomputed": again,
        "findings": findings,
        "text": imported.text,
    }


def is_wrong(one: RecomputedAnswer) -> bool:
    """What was printed differs, or is no number where there should be one."""
    return one["agrees"] is False or (one["agrees"] is None and one["recomputed"] is not None)


# Of a quotient of the longest and the shortest figure that a document may hold, with the digits behind its point.
_ENOUGH_DIGITS = 80

_Shown = tuple[
    SourceAnswer | None, dict[str, str], list[ColumnAnswer], list[ResultAnswer], list[RecomputedAnswer], list[str]
]


def _of_document(read: ImportedDocument) -> _Shown:
    columns: list[ColumnAnswer] = [
        {"name": one.name, "header": one.header, "unit": one.unit, "meaning": one.meaning, "role": one.role}
        for one in read.columns
    ]
    results = [_result(read, one) for one in read.results]
    again = [_recomputed(one) for one in recomputed(read)]
    return _source(read), dict(read.conditions), columns, results, again, list(read.findings)


def _source(read: ImportedDocument) -> SourceAnswer:
    source = read.source
    return {
        "title": source.title, "origin": source.origin, "address": source.address, "published": source.published
    }  # fmt: skip


def _result(read: ImportedDocument, one: ImportedResult) -> ResultAnswer:
    checks, left = _checked(checkable.figures_of_imported(read, one))
    figures = [_figure(name, figure) for name, figure in one.figures.items() if figure is not None]
    return {
        "name": one.name,
        "topology": one.topology,
        "clients": one.clients,
        "threads": one.threads,
        "duration_s": None if one.duration_s is None else float(one.duration_s),
        "runs": one.runs,
        "figures": figures,
        "statements": [{"name": each.name, "latency_ms": each.latency_ms.printed} for each in one.statements],
        "checks": checks,
        "not_checked": left,
        "note": one.note,
    }


def _figure(column: str, figure: Figure) -> FigureAnswer:
    number = None if figure.number is None else str(figure.number)
    return {
        "column": column, "printed": figure.printed, "number": number, "is_slip": figure.as_printed,
        "note": figure.note,
    }  # fmt: skip


def _recomputed(one: Recomputed) -> RecomputedAnswer:
    return {
        "result": one.result,
        "column": one.column,
        "kind": one.kind,
        "header": one.header,
        "printed": one.printed.printed,
        "recomputed": None if one.recomputed is None else _digits_of(one.recomputed, one.printed),
        "agrees": one.agrees,
    }


def _digits_of(value: Decimal, printed: Figure) -> str:
    """With one digit more than was printed, so that it is seen how it was rounded."""
    exponent = -2 if printed.number is None else int(printed.number.as_tuple().exponent)
    with localcontext(prec=_ENOUGH_DIGITS):
        return f"{value.quantize(Decimal(1).scaleb(min(exponent, 0) - 1)):f}"


def _of_output(read: Measured) -> _Shown:
    """One run of pgbench or sysbench."""
    told: list[tuple[str, str, str | None, float | None]] = [
        ("tps", "1/s", "tps", read.tps),
        ("latency_mean", "ms", "latency_mean", read.latency_ms),
        ("latency_stddev", "ms", "latency_stddev", read.latency_stddev_ms),
        *((f"p{percent:g}", "ms", None, value) for percent, value in read.percentiles_ms),
        ("transactions", "1", "transactions", read.transactions),
        ("failed", "1", "failed", read.failed),
    ]
    known = [(name, unit, role, value) for name, unit, role, value in told if value is not None]
    checks, left = _checked(checkable.figures_of_measured(read))
    result: ResultAnswer = {
        "name": f"{read.tool} {read.version}" if read.version else str(read.tool),
        "topology": None,
        "clients": read.clients,
        "threads": None,
        "duration_s": read.duration_s,
        "runs": 1,
        "figures": [
            {"column": name, "printed": f"{value:g}" if name in _COUNTS else f"{value:.6g}",
             "number": repr(value), "is_slip": False, "note": None}
            for name, _, _, value in known
        ],
        "statements": [{"name": one.text, "latency_ms": f"{one.latency_ms:.3f}"} for one in read.statements],
        "checks": checks,
        "not_checked": left,
        "note": "It ended before its time." if read.partial else None,
    }  # fmt: skip
    columns: list[ColumnAnswer] = [
        {"name": name, "header": None, "unit": unit, "meaning": None, "role": role} for name, unit, role, _ in known
    ]
    return None, {}, columns, [result], [], []


_COUNTS = {"transactions", "failed"}


def _checked(figures: RunFigures | None) -> tuple[list[CheckAnswer], list[str]]:
    if figures is None:
        return [], ["None of its figures can be checked."]
    found, left = sanity.check_run(figures)
    return [_check(one) for one in found], [one.sentence for one in left]


def _check(one: sanity.Finding) -> CheckAnswer:
    told: CheckAnswer = asdict(one)  # type: ignore[assignment]  # the same fields
    return told
