"""What runs measured, for people: {{ run.tps|tps }}, {{ run.latency_ms.p95|ms }}, {{ run.workload|workload_name }}."""

from collections.abc import Mapping, Sequence

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from apps.benchmarks.domain import comparison_plan, own_words, run_words, workloads
from apps.benchmarks.domain.run_findings import RunFinding
from apps.benchmarks.domain.workloads import WORKLOADS

register = template.Library()

UNKNOWN = "not measured"


def _missing(reason: str) -> SafeString:
    return format_html('<span class="q" title="{}">–</span>', reason)


@register.filter
def tps(value: float | None, reason: str = UNKNOWN) -> str:
    """1234.5 -> 1,234 tps"""
    return _missing(reason) if value is None else run_words.rate_words(value)


@register.filter
def rate(value: float | None, workload: str) -> str:
    """1234.5 -> 1,234 tps, or 1,234 messages/s where the workload counts those"""
    return _missing(UNKNOWN) if value is None else run_words.rate_words(value, workloads.rate_unit(workload))


@register.filter
def rate_unit(workload: str) -> str:
    return workloads.rate_unit(workload)


@register.filter
def counts(workload: str) -> str:
    """What its rate is of: transactions, or messages"""
    return workloads.counts_of(workload)


@register.filter
def received_per_s(own: Mapping[str, Mapping[str, object]]) -> float | None:
    """What only pub/sub counts, of all servers together."""
    found = [each["consumed_per_s"] for each in own.values() if "consumed_per_s" in each]
    return sum(each for each in found if isinstance(each, int | float)) if found else None


@register.filter
def tps_ends(low: float, high: float) -> str:
    """943.2, 1071.4 -> 943 to 1,071: below a rate that has its unit"""
    ends = (run_words.rate_words(each).removesuffix(f"{run_words.SPACE}{run_words.TPS}") for each in (low, high))
    return " to ".join(ends)


@register.filter
def ms(value: float | None, reason: str = UNKNOWN) -> str:
    """12.345 -> 12.3 ms"""
    return _missing(reason) if value is None else run_words.ms_words(value)


@register.filter
def seconds(value: float | None, reason: str = UNKNOWN) -> str:
    """630 -> 10 min 30 s"""
    return _missing(reason) if value is None else run_words.seconds(value)


@register.filter
def per_min(value: float) -> str:
    """12345.6 -> 12,346 per min"""
    return run_words.per_min_words(value)


@register.filter
def workload_name(key: str) -> str:
    """Its label, or its key where this version no longer knows it."""
    return WORKLOADS[key].label if key in WORKLOADS else key


@register.filter
def axis_name(over: str) -> str:
    return comparison_plan.axis_name(over)


@register.filter
def topology_name(key: str) -> str:
    return run_words.topology_words(key)


@register.filter
def parameter_words(parameters: Mapping[str, object]) -> str:
    """{"scale": 10} -> scale 10; of a text with several lines its first one. What is off or not set is left out."""
    wanted = {name: value for name, value in parameters.items() if value is not None and value is not False}
    return ", ".join(f"{name} {_short(value)}" for name, value in wanted.items())


@register.filter
def told(findings: Sequence[RunFinding]) -> list[RunFinding]:
    """Those that do not hold."""
    return [each for each in findings if not each["ok"]]


@register.filter
def broken_rules(findings: Sequence[RunFinding]) -> list[RunFinding]:
    """What the data itself must keep, and did not: worse than any figure."""
    return [each for each in findings if not each["ok"] and each["check"].startswith("consistency_")]


@register.filter
def own_rows(figures: Mapping[str, object]) -> list[tuple[str, str]]:
    """(what, its value) of figures that only one kind of load has."""
    return own_words.rows(figures)


@register.filter
def share_of(part: float | None, whole: float) -> float:
    """0..1, for what is drawn; what is not known takes no room."""
    return min(1.0, part / whole) if part and whole else 0.0


def _short(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, list):
        return _short(
            ", ".join(str(one["name"]) if isinstance(one, dict) and "name" in one else str(one) for one in value)
        )
    first = (str(value).strip().splitlines() or [""])[0]
    return first if len(first) <= 60 else f"{first[:59]}…"
