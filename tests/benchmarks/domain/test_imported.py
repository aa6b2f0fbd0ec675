"""Results in the import format: the five published ones, their derived columns recomputed, and what is refused."""

import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.benchmarks.domain.imported import FORMAT, ImportedDataError, ImportedDocument, Kind, Role, read_document
from apps.benchmarks.domain.imported_differences import Recomputed, differences, recomputed
from apps.benchmarks.domain.published_examples import FILES, published, published_texts

NAMES = [
    "pg_cirrus_load_balancing",
    "pgpool_kubernetes",
    "query_cache_break_even",
    "spqr_router",
    "tri_node_messaging",
]


def printed_and_recomputed(name: str, result: str, column: str, kind: Kind) -> Recomputed:
    [pair] = [
        pair
        for pair in recomputed(published()[name])
        if (pair.result, pair.column, pair.kind) == (result, column, kind)
    ]
    return pair


def a_document(**changes: object) -> dict[str, Any]:
    """One that is right, but for what a test changes."""
    document: dict[str, Any] = {
        "format": FORMAT,
        "name": "mine",
        "title": "Mine",
        "source": {"title": "My notebook", "address": "https://example.org/1", "published": None},
        "conditions": {"tool": "pgbench 15"},
        "columns": [{"name": "tps", "unit": "1/s", "role": "tps"}, {"name": "pages", "unit": "1"}],
        "results": [
            {"name": "a", "clients": 8, "duration_s": "60", "figures": {"tps": "100.50", "pages": None}, "batch": None},
            {"name": "b", "figures": {"tps": "75.375", "pages": "-3"}},
        ],
        "derived": {"baseline": "a", "columns": [{"of": "tps", "kind": "percent", "values": {"b": "- 25.0 %"}}]},
        "findings": ["b is slower."],
    }
    return document | changes


def read(**changes: object) -> ImportedDocument:
    return read_document(json.dumps(a_document(**changes)))


@pytest.mark.parametrize("name", NAMES)
def test_every_published_document_is_read_under_its_name(name: str) -> None:
    assert sorted(published()) == NAMES
    assert published()[name].name == name
    assert published()[name].source.title


def test_digits_are_kept_as_printed() -> None:
    document = published()["pgpool_kubernetes"]

    one = document.result("one pgpool")
    assert one is not None
    latency = document.figure(one, Role.LATENCY_MEAN)
    assert latency is not None
    assert (latency.printed, latency.number) == ("8364.560", Decimal("8364.56"))
    assert (one.clients, one.duration_s, one.latency_is_derived) == (80, 600, True)
    assert [statement.name for statement in one.statements] == [f"Q{number}" for number in range(18)]


def test_a_slip_is_marked_and_kept_as_printed() -> None:
    document = published()["pgpool_kubernetes"]
    one = document.result("one pgpool")
    assert one is not None

    rate = document.figure(one, Role.TPS_INCLUDING_CONNECTIONS)

    assert rate is not None
    assert (rate.printed, rate.as_printed) == ("9.54162", True)
    assert "9.564161" in (rate.note or "")  # 80 / 8.364560


def test_what_is_no_number_is_kept_and_recomputed() -> None:
    pair = printed_and_recomputed("pgpool_kubernetes", "three pgpools", "latency_ms", Kind.DIFFERENCE)

    assert (pair.printed.printed, pair.printed.number, pair.agrees) == ("-6.27.74899", None, None)
    assert pair.recomputed == Decimal("-627.749")  # 6027.996 - 6655.745


def test_what_was_said_in_words_is_recomputed() -> None:
    pair = printed_and_recomputed("spqr_router", "through the router", "tps", Kind.PERCENT)

    assert (pair.printed.printed, pair.printed.number) == ("about 10%", None)
    assert pair.recomputed is not None
    assert round(pair.recomputed, 2) == Decimal("-7.12")  # 100 x (373.76 - 402.42) / 402.42


def test_every_derived_number_of_the_topologies_is_read_and_agrees_with_its_own_row() -> None:
    pairs = recomputed(published()["pgpool_kubernetes"])

    assert len(pairs) == 24
    assert [pair.result for pair in pairs if pair.agrees is None] == ["three pgpools"]
    assert all(pair.agrees for pair in pairs if pair.printed.number is not None)
    lost_digit = printed_and_recomputed("pgpool_kubernetes", "one pgpool", "tps_including_connections", Kind.PERCENT)
    assert (lost_digit.printed.printed, lost_digit.printed.number) == ("- 20.6%", Decimal("-20.6"))


@pytest.mark.parametrize(
    ("printed", "agrees"),
    [("- 25.0 %", True), ("-25%", True), ("-24.9", True), ("-24.8", False), ("+ 25.0%", False), ("25.0", False)],
)
def test_a_derived_number_agrees_within_its_last_digit(printed: str, agrees: bool) -> None:
    """100 x (75.375 - 100.50) / 100.50 = -25 exactly."""
    document = read(derived={"baseline": "a", "columns": [{"of": "tps", "kind": "percent", "values": {"b": printed}}]})

    [pair] = recomputed(document)

    assert pair.recomputed == -25
    assert pair.agrees is agrees


def test_differences_are_computed_to_any_baseline() -> None:
    document = read()

    to_a, to_b = (differences(document, column="tps", baseline=name) for name in ("a", "b"))

    assert [(one.result, one.absolute, one.percent) for one in to_a] == [("a", 0, 0), ("b", Decimal("-25.125"), -25)]
    assert [one.absolute for one in to_b] == [Decimal("25.125"), 0]
    assert [one.absolute for one in differences(document, column="pages", baseline="b")] == [None, 0]
    with pytest.raises(KeyError):
        differences(document, column="tps", baseline="c")
    with pytest.raises(KeyError):
        differences(document, column="rows", baseline="a")


def test_nothing_is_divided_by_a_baseline_of_zero() -> None:
    results = [{"name": "a", "figures": {"tps": "0"}}, {"name": "b", "figures": {"tps": "5"}}]

    *_, b = differences(read(results=results, derived={"baseline": "a", "columns": []}), column="tps", baseline="a")

    assert (b.absolute, b.percent) == (5, None)


def test_what_was_not_printed_is_none_and_not_zero() -> None:
    document = published()["pg_cirrus_load_balancing"]
    balanced = document.result("with load balancing")
    assert balanced is not None

    assert document.figure(balanced, Role.TPS) is None
    counts = [balanced.figures[f"select_cnt_{number}"] for number in range(3)]
    assert [figure.number for figure in counts if figure is not None] == [1, 118067, 116334]


RESULT = {"name": "a", "figures": {"tps": "1"}}


def with_result(**changes: object) -> dict[str, object]:
    return {"results": [RESULT | changes], "derived": {"baseline": "a", "columns": []}}


@pytest.mark.parametrize(
    ("changes", "path", "told"),
    [
        ({"colour": "red"}, "colour", 'cannot take "red"; expected no field of that name; there may be format, name'),
        ({"format": "lifeguard-benchmarks-2"}, "format", f"expected one of {FORMAT}"),
        ({"name": "Mine!"}, "name", "lower-case letters"),
        ({"title": 5}, "title", "cannot take 5; expected a text"),
        ({"title": "a\x00b"}, "title", "without control characters"),
        ({"title": "\ud800"}, "title", "without control characters"),
        ({"source": {}}, "source.title", "source.title: is missing"),
        ({"source": None}, "source", "cannot take null; expected an object"),
        ({"source": {"title": "x", "address": "javascript:alert(1)"}}, "source.address", "https://"),
        ({"columns": []}, "columns", "at least one column"),
        ({"columns": [{"name": "tps"}]}, "columns[0].unit", "is missing"),
        ({"columns": [{"name": "tps", "unit": "1/min", "role": "tps"}]}, "columns[0].unit", "expected 1/s"),
        ({"columns": [{"name": "tps", "unit": "1/s", "role": "speed"}]}, "columns[0].role", "latency_p95"),
        ({"columns": [{"name": "tps", "unit": "1/s"}] * 2}, "columns[1].name", "no other column"),
        ({"results": []}, "results", "at least one result"),
        ({"results": {}}, "results", "cannot take an object; expected a list"),
        ({"results": [RESULT, RESULT]}, "results[1].name", "no other result"),
        ({"results": [RESULT] * 1001}, "results", "1001 entries; expected at most 1000"),
        (with_result(figures={"tps": 9.54162}), "results[0].figures.tps", 'such as "9.54162"'),
        (with_result(figures={"tps": "9,54"}), "results[0].figures.tps", '{"as_printed"'),
        (with_result(figures={"tps": "٩"}), "results[0].figures.tps", "a number as a text"),
        (with_result(figures={"tps": "-1"}), "results[0].figures.tps", "not below 0"),
        (with_result(figures={"tpd": "1"}), "results[0].figures.tpd", "there may be tps, pages"),
        (with_result(figures={"tps": {"printed": "x"}}), "results[0].figures.tps.printed", "as_printed, note"),
        (with_result(clients="80"), "results[0].clients", "without quotes"),
        (with_result(clients=True), "results[0].clients", "a whole number"),
        (with_result(clients=0), "results[0].clients", "above 0"),
        (with_result(clients=8.5), "results[0].clients", "a whole number"),
        (with_result(duration_s="0"), "results[0].duration_s", "above 0"),
        (with_result(duration_s=600), "results[0].duration_s", "as a text"),
        (with_result(latency_is_derived="yes"), "results[0].latency_is_derived", "true or false"),
        (with_result(statements=[{"name": "Q0"}]), "results[0].statements[0].latency_ms", "is missing"),
        ({"derived": {"baseline": "c", "columns": []}}, "derived.baseline", "one of a, b"),
        (
            {"derived": {"baseline": "a", "columns": [{"of": "tps", "kind": "ratio", "values": {}}]}},
            "derived.columns[0].kind",
            "difference, percent",
        ),
        (
            {"derived": {"baseline": "a", "columns": [{"of": "tps", "kind": "percent", "values": {"b": "about 10%"}}]}},
            "derived.columns[0].values.b",
            '{"as_printed"',
        ),
        ({"conditions": {"tool": 15}}, "conditions.tool", "a text"),
    ],
)
def test_a_wrong_field_is_named_with_its_value_and_what_would_be_right(
    changes: dict[str, object], path: str, told: str
) -> None:
    with pytest.raises(ImportedDataError) as refused:
        read(**changes)

    assert refused.value.path == path
    assert told in str(refused.value)
    str(refused.value).encode()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "line 1, column 1"),
        ('{"format":\n  broken}', "line 2, column 3"),
        ("[]", "the document: cannot take a list; expected an object"),
        ('{"name": 1, "name": 2}', "name: cannot take a field that is there twice"),
        ('{"name": NaN}', "cannot take NaN"),
        ('{"name": ' + "9" * 5000 + "}", "so many digits"),
        ("[" * 100000, "so deep a nesting"),
    ],
)
def test_what_is_no_such_json_is_refused(text: str, told: str) -> None:
    with pytest.raises(ImportedDataError, match=re.escape(told)):
        read_document(text)


@pytest.mark.parametrize("field", ["format", "name", "title", "source", "columns", "results"])
def test_nothing_that_is_needed_may_be_missing(field: str) -> None:
    document = a_document()
    del document[field]

    with pytest.raises(ImportedDataError) as refused:
        read_document(json.dumps(document))

    assert refused.value.path == field


def test_the_example_in_the_description_can_be_imported() -> None:
    description = (Path(__file__).parents[3] / "docs" / "import-format.md").read_text()
    [example] = re.findall(r"```json\n(.*?)```", description, re.DOTALL)

    document = read_document(example)

    assert document.baseline is not None
    assert {f"`{role.value}`" for role in Role} <= set(re.findall(r"`[a-z0-9_]+`", description))


def test_the_product_reads_its_own_files_and_no_others() -> None:
    assert sorted(file.stem for file in FILES.iterdir()) == sorted(published_texts())


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(JSON | st.fixed_dictionaries({}, optional=dict.fromkeys(a_document(), JSON)).map(lambda new: a_document(**new)))
def test_any_json_is_read_or_refused(value: object) -> None:
    try:
        read_document(json.dumps(value))
    except ImportedDataError as refused:
        str(refused).encode()


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        read_document(text)
    except ImportedDataError as refused:
        assert refused.expected
