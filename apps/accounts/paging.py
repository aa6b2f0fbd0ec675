"""Lists in pages by key: the rows below an id, newest first. A row that is added meanwhile shifts no page."""

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.db.models import Model, QuerySet
from django.http import QueryDict

Row = TypeVar("Row", bound=Model)
PAGE_SIZE = 50
# Every bigint of 18 digits fits; no table will ever come so far.
_MOST_DIGITS = 18


class PageKeyInvalid(ValueError):
    """The key of a page is not one that a page named."""

    def __init__(self, value: str) -> None:
        super().__init__(f"{value[:40]!r} is no page key; take `next` of the page before as it is")
        self.value = value


@dataclass(frozen=True)
class Page(Generic[Row]):
    """Rows, newest first, and the query string of the next page, or None at the end."""

    rows: tuple[Row, ...]
    next_query: str | None


def row_key(text: str) -> int | None:
    """The key of a row as an address names it; None for what is no key."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else None


def page_of(rows: QuerySet[Row, Any], *, query: QueryDict, size: int = PAGE_SIZE) -> Page[Row]:
    """The page that ?before=<id> of the query names; the other parameters of the query are kept in the next one's."""
    before = query.get("before", "")
    if before:
        key = row_key(before)
        if key is None:
            raise PageKeyInvalid(before)
        rows = rows.filter(pk__lt=key)
    found = list(rows.order_by("-pk")[: size + 1])
    if len(found) <= size:
        return Page(tuple(found), None)
    following = query.copy()
    following["before"] = str(found[size - 1].pk)
    return Page(tuple(found[:size]), following.urlencode())
