"""Tables that a query cache leaves out: the list of each version, what matches a table, what names it.

pgpool compares a table as a statement names it, with or without its schema, with every item as a regular expression
between ^ and $, without regard to case; so both names belong on the list.
Source: Pgpool-II manual, "In Memory Query Cache", cache_unsafe_memqcache_table_list.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain

from apps.clusters.domain.function_lists import SEPARATOR, merged
from apps.clusters.domain.parameters import catalogue

UNSAFE, UNSAFE_UNTIL_4_1 = "cache_unsafe_memqcache_table_list", "black_memqcache_table_list"
# A comma would end the item, and a blank at its end is lost.
_NAMEABLE = re.compile(r"[A-Za-z0-9_$-]+")
_CLASSES = {
    "[:alpha:]": "a-zA-Z", "[:digit:]": "0-9", "[:alnum:]": "a-zA-Z0-9", "[:lower:]": "a-z", "[:upper:]": "A-Z",
    "[:space:]": r"\s", "[:blank:]": r" \t", "[:xdigit:]": "0-9a-fA-F",
}  # fmt: skip


def list_name(version: str) -> str:
    """version: of pgpool, empty where it is not known."""
    known = catalogue.for_version(version or None)
    return UNSAFE if known.find(UNSAFE) is not None else UNSAFE_UNTIL_4_1


def names_both_ways(listed: Iterable[str], schema: str, name: str) -> bool:
    """Whether items match the table alone and with its schema."""
    patterns = [pattern for item in listed if (pattern := _compiled(item)) is not None]
    return all(any(one.fullmatch(text) for one in patterns) for text in (name, f"{schema}.{name}"))


def with_tables(standing: str, tables: Iterable[tuple[str, str]]) -> str | None:
    """The list with these tables (schema, name) behind what stands there; None where no item can name one of them."""
    wanted = list(tables)
    if not all(_NAMEABLE.fullmatch(part) for part in chain.from_iterable(wanted)):
        return None
    items = (item for schema, name in wanted for item in (_item(name), f"{_item(schema)}[.]{_item(name)}"))
    return merged(standing, SEPARATOR.join(items))


def _item(name: str) -> str:
    return name.replace("$", "[$]")


def _compiled(item: str) -> re.Pattern[str] | None:
    """None for what Python does not read as pgpool does: better not said to match."""
    for posix, ours in _CLASSES.items():
        item = item.replace(posix, ours)
    if "[[" in item or "[:" in item:
        return None
    try:
        return re.compile(item, re.IGNORECASE)
    except re.error:
        return None
