"""Columns that follow from other ones, recomputed, beside what a source printed."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from apps.benchmarks.domain.imported import Figure, ImportedDocument, ImportedResult, Kind


@dataclass(frozen=True)
class Difference:
    """Of a result to the baseline. None where one of the two printed no number; percent too where the baseline is 0."""

    result: str
    absolute: Decimal | None
    percent: Decimal | None

    def of_kind(self, kind: Kind) -> Decimal | None:
        return self.absolute if kind == Kind.DIFFERENCE else self.percent


@dataclass(frozen=True)
class Recomputed:
    """One figure that a source derived. agrees: None where either is no number.

    It agrees within one unit of the last printed digit: some sources round, some cut.
    """

    result: str
    column: str
    kind: Kind
    header: str | None
    printed: Figure
    recomputed: Decimal | None

    @property
    def agrees(self) -> bool | None:
        number = self.printed.number
        if number is None or self.recomputed is None:
            return None
        _, _, exponent = number.as_tuple()
        unit = Decimal(1).scaleb(int(exponent))
        return abs(self.recomputed - number) <= unit


def differences(document: ImportedDocument, *, column: str, baseline: str) -> list[Difference]:
    """Of all results, in their order, to the chosen baseline.

    Raises KeyError for a column or a baseline that is not in the document.
    """
    if column not in {one.name for one in document.columns}:
        raise KeyError(column)
    base = document.result(baseline)
    if base is None:
        raise KeyError(baseline)
    return [_difference(result, base, column) for result in document.results]


def recomputed(document: ImportedDocument) -> list[Recomputed]:
    """Every figure that the source derived, with what it should be."""
    if document.baseline is None:
        return []
    pairs = []
    for derived in document.derived:
        by_result = {
            difference.result: difference
            for difference in differences(document, column=derived.of, baseline=document.baseline)
        }
        pairs += [
            Recomputed(
                result=name,
                column=derived.of,
                kind=derived.kind,
                header=derived.header,
                printed=printed,
                recomputed=by_result[name].of_kind(derived.kind),
            )
            for name, printed in derived.values.items()
        ]
    return pairs


def _difference(result: ImportedResult, base: ImportedResult, column: str) -> Difference:
    number, base_number = _number(result, column), _number(base, column)
    if number is None or base_number is None:
        return Difference(result.name, None, None)
    absolute = number - base_number
    return Difference(result.name, absolute, 100 * absolute / base_number if base_number else None)


def _number(result: ImportedResult, column: str) -> Decimal | None:
    figure = result.figures.get(column)
    return None if figure is None else figure.number
