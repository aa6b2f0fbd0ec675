"""The TPC-C-like workload: its five transactions, how much data they meet, and what must hold of it afterwards.

Source: TPC-C, revision 5.11. What is left of it here: no terminals, so neither keying nor think times, and no display.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from apps.benchmarks.domain.run_findings import RunFinding
from apps.benchmarks.domain.workload_parameters import WholeNumber

WORKLOAD = "tpcc-like"
FEWEST_WAREHOUSES = 10
WAREHOUSES = WholeNumber(
    "warehouses", "Warehouses: ten districts and about 100 MB each", least=1, most=10_000, default=FEWEST_WAREHOUSES
)
SIZE_PERCENT = WholeNumber(
    "size_percent", "Size: items, customers and orders against what is specified; less than 100 is for trying out",
    least=1, most=100, default=100, unit="%",
)  # fmt: skip
_ITEMS = 100_000
_CUSTOMERS = 3_000
# So many last names are made of three of ten syllables.
_NAMES = 1_000


@dataclass(frozen=True)
class Kind:
    """One of the five. weight: its share of all transactions, in percent."""

    name: str
    weight: int


NEW_ORDER = Kind("new order", 45)
KINDS = (NEW_ORDER, Kind("payment", 43), Kind("order status", 4), Kind("delivery", 4), Kind("stock level", 4))


@dataclass(frozen=True)
class Size:
    """How much data there is. customers: of each of the ten districts of a warehouse, as many as it has orders first.

    names: how many last names they have at least one customer for.
    """

    warehouses: int
    size_percent: int

    @property
    def items(self) -> int:
        return _ITEMS * self.size_percent // 100

    @property
    def customers(self) -> int:
        return _CUSTOMERS * self.size_percent // 100

    @property
    def names(self) -> int:
        return min(_NAMES, self.customers)


def size_of(parameters: Mapping[str, Any]) -> Size:
    return Size(parameters[WAREHOUSES.name], parameters[SIZE_PERCENT.name])


@dataclass(frozen=True)
class Condition:
    """One of clause 3.3.2. says: what must be. of: what it is looked at for, one and several."""

    number: int
    says: str
    of: tuple[str, str]

    @property
    def check(self) -> str:
        return f"consistency_{self.number}"


_DISTRICTS = ("district", "districts")
CONDITIONS = (
    Condition(
        1, "what a warehouse took is what its districts took (W_YTD = sum(D_YTD))", ("warehouse", "warehouses")
    ),
    Condition(
        2, "the next order follows the latest one (D_NEXT_O_ID - 1 = max(O_ID) = max(NO_O_ID))", _DISTRICTS
    ),
    Condition(
        3, "orders that wait are numbered without a gap (max(NO_O_ID) - min(NO_O_ID) + 1 = their count)", _DISTRICTS
    ),
    Condition(4, "orders have the lines that they count (sum(O_OL_CNT) = count of ORDER_LINE)", _DISTRICTS),
)  # fmt: skip


@dataclass(frozen=True)
class Looked:
    """What one condition came to. first: the figures of the first place where it does not hold."""

    places: int
    broken: int
    first: str


def of_condition(condition: Condition, looked: Looked) -> RunFinding:
    said = f"Consistency condition {condition.number}"
    one, several = condition.of
    places = f"{looked.places:,} {one if looked.places == 1 else several}"
    if not looked.places:
        return _finding(condition.check, False, f"{said} could not be looked at: there is no {one} any more.")
    if not looked.broken:
        return _finding(condition.check, True, f"{said} holds for {places}: {condition.says}.")
    return _finding(
        condition.check, False,
        f"{said} is VIOLATED in {looked.broken:,} of {places}, first in {looked.first}: {condition.says}. Either "
        "something wrote to these tables beside the load, or this database has lost or doubled what it had confirmed: "
        "take no figure of this run. Once it is explained, make the tables anew (reseed).",
    )  # fmt: skip


def of_isolation(level: str) -> RunFinding:
    """Of sessions that begin at another level than the transactions are written for."""
    said = (
        f"Sessions of its role begin at {level}, and these transactions are written for read committed: those that "
        "meet at a row fail, and are counted as failed. ALTER ROLE … SET default_transaction_isolation mends it."
    )
    return _finding("isolation", False, said)


def of_size(size: Size) -> list[RunFinding]:
    """What a reader must know of data that is smaller than specified."""
    found = []
    if size.warehouses < FEWEST_WAREHOUSES:
        said = (
            f"{size.warehouses} warehouse{'' if size.warehouses == 1 else 's'} of at least {FEWEST_WAREHOUSES}: "
            "clients wait for one another at rows of so few, and all of the data may be in memory."
        )
        found.append(_finding("few_warehouses", False, said))
    if size.size_percent < 100:
        said = (
            f"Items, customers and orders are {size.size_percent} % of what is specified. Such a run shows that it "
            "works, and not how fast."
        )
        found.append(_finding("small_data", False, said))
    return found


def new_orders_per_min(workload: str, result: Mapping[str, Any]) -> float | None:
    """The new-order rate: orders per minute, those that were to be rolled back included. None of any other workload.

    It is no tpmC: that is measured with keying and think times, on audited systems. result: a RunResult.
    """
    if workload != WORKLOAD:
        return None
    rates = [one["tps"] for one in result.get("scripts") or [] if one["name"] == NEW_ORDER.name]
    return rates[0] * 60 if rates and rates[0] is not None else None


def _finding(check: str, ok: bool, sentence: str) -> RunFinding:
    return {"check": check, "ok": ok, "sentence": sentence}
