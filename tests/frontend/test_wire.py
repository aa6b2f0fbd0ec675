"""wire.ts mirrors the shapes that Python answers with: a field added on one side only fails here."""

import re
from pathlib import Path
from typing import get_type_hints

import pytest

from apps.benchmarks.queries.campaigns import RoundAnswer, TrendPoint
from apps.benchmarks.queries.comparison_courses import ArmCourse, CoursesAnswer
from apps.benchmarks.queries.comparison_detail import DoublingAnswer, PointAnswer, SweepAnswer
from apps.benchmarks.queries.run_beside import BesideLine
from apps.benchmarks.queries.run_course import CourseAnswer, CoursePoint
from apps.clusters.history.series import Series, SeriesAnswer
from apps.clusters.polling.points import PointsMessage, PushedPoint
from apps.clusters.views.detail import ChartEvent
from apps.live.consumers import GAP, HEARTBEAT
from apps.live.events import FactMessage
from apps.query_cache.queries.shapes import (
    AdviceAnswer,
    AdviceStep,
    AtWriteRate,
    BetweenWritesAnswer,
    BreakEvenAnswer,
    BreakEvenCurve,
    CacheAnswer,
    CalibrationAnswer,
    CurvePoint,
    DraftWish,
    ForecastAnswer,
    GainAnswer,
    LossAnswer,
    MemcachedAnswer,
    MemcachedNote,
    PairAnswer,
    PgpoolCache,
    PublishedAnswer,
    UnderWrites,
    WarmUpPoint,
    WriteCurve,
)

WIRE = Path(__file__).resolve().parents[2] / "frontend" / "src" / "wire.ts"


def fields_of(interface: str) -> dict[str, bool]:
    """Field -> whether it may be left out."""
    body = re.search(rf"^export interface {interface} \{{$(.*?)^\}}$", WIRE.read_text(), re.MULTILINE | re.DOTALL)
    assert body is not None, f"wire.ts has no interface {interface}"
    # An index signature, which stands for what belongs to each fact, is no field.
    found = re.findall(r"^  readonly (\w+)(\??):", body[1], re.MULTILINE)
    return {name: mark == "?" for name, mark in found}


@pytest.mark.parametrize(
    "shape",
    [
        Series,
        SeriesAnswer,
        PointsMessage,
        FactMessage,
        ChartEvent,
        CourseAnswer,
        CoursePoint,
        BesideLine,
        PointAnswer,
        DoublingAnswer,
        SweepAnswer,
        ArmCourse,
        CoursesAnswer,
        TrendPoint,
        RoundAnswer,
        AdviceAnswer,
        AdviceStep,
        DraftWish,
        BreakEvenAnswer,
        BreakEvenCurve,
        CacheAnswer,
        CalibrationAnswer,
        CurvePoint,
        GainAnswer,
        MemcachedAnswer,
        MemcachedNote,
        PairAnswer,
        PgpoolCache,
        PublishedAnswer,
        AtWriteRate,
        WriteCurve,
        UnderWrites,
        ForecastAnswer,
        WarmUpPoint,
        LossAnswer,
        BetweenWritesAnswer,
    ],
)
def test_the_browser_knows_every_field_of_what_travels(shape: type) -> None:
    optional: frozenset[str] = shape.__optional_keys__  # type: ignore[attr-defined]  # every TypedDict has it

    assert fields_of(shape.__name__) == {name: name in optional for name in get_type_hints(shape)}


def test_the_browser_knows_every_field_of_a_pushed_point() -> None:
    assert set(fields_of("PushedPoint")) == set(get_type_hints(PushedPoint))


@pytest.mark.parametrize(("name", "fact"), [("HEARTBEAT", HEARTBEAT), ("GAP", GAP)])
def test_the_browser_knows_what_the_socket_says_of_itself(name: str, fact: str) -> None:
    assert f'const {name} = "{fact}";' in (WIRE.parent / "live.ts").read_text()
