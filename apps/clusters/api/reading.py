"""Query parameters of REST requests: read, bounded, refused by name."""

import math
from datetime import UTC, datetime

from rest_framework.request import Request

from controlplane.problems import invalid


def whole(request: Request, name: str, *, default: int | None, lowest: int, highest: int) -> int | None:
    raw = request.query_params.get(name)
    if raw is None or raw == "":
        return default
    if not (raw.isascii() and raw.isdigit() and lowest <= int(raw[:19]) <= highest):
        invalid(**{name: f"{raw!r} is no whole number from {lowest} to {highest}"})
    return int(raw)


def instant(request: Request, name: str, *, default: datetime) -> datetime:
    """Seconds since 1970, or ISO 8601 with an offset."""
    raw = request.query_params.get(name)
    if not raw:
        return default
    expected = f"{raw!r} is neither seconds since 1970 nor ISO 8601 with an offset, as 2026-11-21T14:30:00Z"
    try:
        seconds = float(raw)
    except ValueError:
        try:
            # A plus that was not encoded arrives as a blank.
            read = datetime.fromisoformat(raw.replace(" ", "+"))
        except ValueError:
            invalid(**{name: expected})
        if read.tzinfo is None:
            invalid(**{name: expected})
        return read.astimezone(UTC)
    if not math.isfinite(seconds) or not 0 <= seconds < 4e9:
        invalid(**{name: expected})
    return datetime.fromtimestamp(seconds, UTC)


def page_bounds(request: Request) -> tuple[int | None, int]:
    """(before, limit) of a list."""
    before = whole(request, "before", default=None, lowest=1, highest=2**62)
    return before, whole(request, "limit", default=50, lowest=1, highest=200) or 50


def next_page(request: Request, *, before: int | None) -> str | None:
    """The address of the next page, or None at the end."""
    if before is None:
        return None
    query = request.query_params.copy()
    query["before"] = str(before)
    return request.build_absolute_uri(f"{request.path}?{query.urlencode()}")
