"""Published or external results in Lifeguard's import format: read whole, or refused by the field that is wrong.

The format is described in docs/import-format.md.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from apps.benchmarks.domain.json_fields import Field, ImportedDataError, document, number

FORMAT = "lifeguard-benchmarks-1"

MOST_RESULTS = 1000
MOST_COLUMNS = 100
MOST_STATEMENTS = 1000
MOST_CONDITIONS = 100


class Role(StrEnum):
    """What a column means to checks and comparisons."""

    TPS = "tps"
    TPS_INCLUDING_CONNECTIONS = "tps_including_connections"
    LATENCY_MEAN = "latency_mean"
    LATENCY_STDDEV = "latency_stddev"
    LATENCY_P50 = "latency_p50"
    LATENCY_P95 = "latency_p95"
    LATENCY_P99 = "latency_p99"
    TRANSACTIONS = "transactions"
    FAILED = "failed"


# The unit that a column of such a role is in; others say their own.
UNITS = {
    Role.TPS: "1/s",
    Role.TPS_INCLUDING_CONNECTIONS: "1/s",
    Role.LATENCY_MEAN: "ms",
    Role.LATENCY_STDDEV: "ms",
    Role.LATENCY_P50: "ms",
    Role.LATENCY_P95: "ms",
    Role.LATENCY_P99: "ms",
    Role.TRANSACTIONS: "1",
    Role.FAILED: "1",
}


class Kind(StrEnum):
    DIFFERENCE = "difference"  # candidate - baseline
    PERCENT = "percent"  # 100 x (candidate - baseline) / baseline


@dataclass(frozen=True)
class Source:
    title: str
    origin: str | None
    address: str | None
    published: str | None


@dataclass(frozen=True)
class Column:
    """header: as the source prints it. unit: of its figures, "1" for none."""

    name: str
    unit: str
    header: str | None
    meaning: str | None
    role: Role | None


@dataclass(frozen=True)
class Figure:
    """number: None where what was printed is no number. as_printed: marked as a slip or an oddity of the source."""

    printed: str
    number: Decimal | None
    as_printed: bool
    note: str | None = None


@dataclass(frozen=True)
class ImportedStatement:
    name: str
    latency_ms: Figure


@dataclass(frozen=True)
class ImportedResult:
    """One row of the source. figures: by name of a column; None where the source prints none.

    latency_is_derived: the tool divided clients by tps. throttle_per_s: in the unit of tps. batch: what one tick sends.
    """

    name: str
    topology: str | None
    clients: int | None
    threads: int | None
    duration_s: Decimal | None
    runs: int | None
    throttle_per_s: Decimal | None
    batch: int | None
    latency_is_derived: bool | None
    figures: Mapping[str, Figure | None]
    statements: tuple[ImportedStatement, ...]
    note: str | None


@dataclass(frozen=True)
class DerivedColumn:
    """A column that the source computed from another one. values: by name of a result."""

    of: str
    kind: Kind
    header: str | None
    values: Mapping[str, Figure]


@dataclass(frozen=True)
class ImportedDocument:
    """conditions: what held for all results, by a name. findings: what the source concludes, in our words."""

    name: str
    title: str
    source: Source
    conditions: Mapping[str, str]
    columns: tuple[Column, ...]
    results: tuple[ImportedResult, ...]
    baseline: str | None
    derived: tuple[DerivedColumn, ...]
    findings: tuple[str, ...]

    def result(self, name: str) -> ImportedResult | None:
        return next((result for result in self.results if result.name == name), None)

    def column_of(self, role: Role) -> Column | None:
        return next((column for column in self.columns if column.role == role), None)

    def figure(self, result: ImportedResult, role: Role) -> Figure | None:
        column = self.column_of(role)
        return None if column is None else result.figures.get(column.name)


def read_document(text: str) -> ImportedDocument:
    """Raises ImportedDataError: nothing is half-read."""
    top = document(text).fields(
        required=("format", "name", "title", "source", "columns", "results"),
        optional=("conditions", "derived", "findings"),
    )
    top["format"].choice([FORMAT])
    columns = _columns(top["columns"])
    results = _results(top["results"], columns)
    baseline, derived = _derived(top.get("derived"), [column.name for column in columns], results)
    return ImportedDocument(
        name=top["name"].identifier(),
        title=top["title"].name(),
        source=_source(top["source"]),
        conditions=_conditions(top.get("conditions")),
        columns=columns,
        results=results,
        baseline=baseline,
        derived=derived,
        findings=tuple(one.text() for one in top["findings"].items(at_most=100)) if "findings" in top else (),
    )


def _source(field: Field) -> Source:
    fields = field.fields(required=("title",), optional=("origin", "address", "published"))
    address = _optional_text(fields.get("address"))
    if address is not None and not re.fullmatch(r"https?://[^\s\"'<>]+", address):
        raise fields["address"].refuse("an address that begins with https:// or http://")
    return Source(
        title=fields["title"].text(),
        origin=_optional_text(fields.get("origin")),
        address=address,
        published=_optional_text(fields.get("published")),
    )


def _conditions(field: Field | None) -> Mapping[str, str]:
    if field is None:
        return {}
    members = field.members()
    if len(members) > MOST_CONDITIONS:
        raise field.refuse(f"at most {MOST_CONDITIONS} conditions")
    # A name is shown as it is, so it is held to what any text of the document is.
    return {Field(value.path, name).name(): value.text() for name, value in members.items()}


def _columns(field: Field) -> tuple[Column, ...]:
    columns: list[Column] = []
    for item in field.items(at_most=MOST_COLUMNS):
        fields = item.fields(required=("name", "unit"), optional=("header", "meaning", "role"))
        role = Role(fields["role"].choice([*Role])) if "role" in fields else None
        column = Column(
            name=fields["name"].identifier(),
            unit=fields["unit"].name(),
            header=_optional_text(fields.get("header")),
            meaning=_optional_text(fields.get("meaning")),
            role=role,
        )
        if any(other.name == column.name for other in columns):
            raise fields["name"].refuse("a name that no other column has")
        if role is not None and any(other.role == role for other in columns):
            raise fields["role"].refuse("a role that no other column has")
        if role is not None and column.unit != UNITS[role]:
            raise fields["unit"].refuse(f"{UNITS[role]}, the unit of {role}")
        columns.append(column)
    if not columns:
        raise field.refuse("at least one column")
    return tuple(columns)


def _results(field: Field, columns: tuple[Column, ...]) -> tuple[ImportedResult, ...]:
    results: list[ImportedResult] = []
    for item in field.items(at_most=MOST_RESULTS):
        result = _result(item, columns)
        if any(other.name == result.name for other in results):
            raise Field(f"{item.path}.name", result.name).refuse("a name that no other result has")
        results.append(result)
    if not results:
        raise field.refuse("at least one result")
    return tuple(results)


def _result(item: Field, columns: tuple[Column, ...]) -> ImportedResult:
    fields = item.fields(
        required=("name", "figures"),
        optional=(
            "topology", "clients", "threads", "duration_s", "runs", "throttle_per_s", "batch", "latency_is_derived",
            "statements", "note",
        ),
    )  # fmt: skip
    # null says the same as leaving a field out.
    given = {name: field for name, field in fields.items() if field.value is not None or name in {"name", "figures"}}
    figures = given["figures"].fields(required=(), optional=[column.name for column in columns])
    measured = {column.name for column in columns if column.role is not None}
    return ImportedResult(
        name=given["name"].name(),
        topology=_optional_text(given.get("topology")),
        clients=given["clients"].count() if "clients" in given else None,
        threads=given["threads"].count() if "threads" in given else None,
        duration_s=given["duration_s"].positive() if "duration_s" in given else None,
        runs=given["runs"].count() if "runs" in given else None,
        throttle_per_s=given["throttle_per_s"].positive() if "throttle_per_s" in given else None,
        batch=given["batch"].count() if "batch" in given else None,
        latency_is_derived=given["latency_is_derived"].flag() if "latency_is_derived" in given else None,
        figures={
            name: None if one.value is None else _figure(one, least=0 if name in measured else None)
            for name, one in figures.items()
        },
        statements=_statements(given.get("statements")),
        note=_optional_text(given.get("note")),
    )


def _statements(field: Field | None) -> tuple[ImportedStatement, ...]:
    if field is None:
        return ()
    statements = []
    for item in field.items(at_most=MOST_STATEMENTS):
        fields = item.fields(required=("name", "latency_ms"))
        statements.append(ImportedStatement(fields["name"].text(), _figure(fields["latency_ms"], least=0)))
    return tuple(statements)


def _derived(
    field: Field | None, columns: list[str], results: tuple[ImportedResult, ...]
) -> tuple[str | None, tuple[DerivedColumn, ...]]:
    if field is None:
        return None, ()
    fields = field.fields(required=("baseline", "columns"))
    names = [result.name for result in results]
    baseline = fields["baseline"].choice(names)
    derived = []
    for item in fields["columns"].items(at_most=MOST_COLUMNS):
        parts = item.fields(required=("of", "kind", "values"), optional=("header",))
        values = parts["values"].fields(required=(), optional=names)
        derived.append(
            DerivedColumn(
                of=parts["of"].choice(columns),
                kind=Kind(parts["kind"].choice([*Kind])),
                header=_optional_text(parts.get("header")),
                values={name: _figure(value, signed=True) for name, value in values.items()},
            )
        )
    return baseline, tuple(derived)


def _figure(field: Field, *, signed: bool = False, least: int | None = None) -> Figure:
    """signed: a difference, which sources print as "+ 792.686" or "- 10.6%". least: of what cannot be below."""
    if isinstance(field.value, dict):
        fields = field.fields(required=("as_printed",), optional=("note",))
        printed = fields["as_printed"].name()
        return Figure(printed, _number(printed, signed=signed), True, _optional_text(fields.get("note")))
    if signed and isinstance(field.value, str) and (difference := _number(field.value, signed=True)) is not None:
        return Figure(field.value, difference, False)
    printed = field.decimal_text()
    value = number(printed)
    if value is not None and least is not None and value < least:
        raise field.refuse(f"a number that is not below {least}")
    return Figure(printed, value, False)


def _number(printed: str, *, signed: bool) -> Decimal | None:
    if not signed:
        return number(printed)
    match = re.fullmatch(r"(?P<sign>[+-]?) ?(?P<digits>[0-9.]+) ?%?", printed)
    return None if match is None else number(match["sign"].replace("+", "") + match["digits"])


def _optional_text(field: Field | None) -> str | None:
    return None if field is None or field.value is None else field.text()


__all__ = [
    "FORMAT",
    "Column",
    "DerivedColumn",
    "Figure",
    "ImportedDataError",
    "ImportedDocument",
    "ImportedResult",
    "ImportedStatement",
    "Kind",
    "Role",
    "Source",
    "read_document",
]
