"""Query parameters of REST requests: read, bounded, refused by name."""

from datetime import UTC, datetime

from rest_framework.request import Request

from controlplane.problems import invalid

_MOST_DIGITS = 19
# Until 2096: instants beyond are slips, and arithmetic on the last days of the calendar fails.
_LATEST_S = 4e9


def whole(request: Request, name: str, *, default: int | None, lowest: int, highest: int) -> int | None:
    raw = request.query_params.get(name)
    if raw is None or raw == "":
        return default
    if not (raw.isascii() and raw.isdigit() and len(raw) <= _MOST_DIGITS and lowest <= int(raw) <= highest):
        invalid(**{name: f"{raw[:40]!r} is no whole number from {lowest} to {highest}"})
    return int(raw)


def instant(request: Request, name: str, *, default: datetime) -> datetime:
    """Seconds since 1970, or ISO 8601 with an offset."""
    raw = request.query_params.get(name)
    if not raw:
        return default
    expected = f"{raw[:40]!r} is neither seconds since 1970 nor ISO 8601 with an offset, as 2026-11-21T14:30:00Z"
    try:
        seconds = _seconds(raw)
    except ValueError:
        invalid(**{name: expected})
    if not 0 <= seconds < _LATEST_S:  # NaN compares false, so it ends here too
        invalid(**{name: f"{raw[:40]!r} lies before 1970 or after 2096"})
    return datetime.fromtimestamp(seconds, UTC)


def _seconds(raw: str) -> float:
    try:
        return float(raw)
    except ValueError:
        # A plus that was not encoded arrives as a blank.
        read = datetime.fromisoformat(raw.replace(" ", "+"))
    if read.tzinfo is None:
        raise ValueError("an instant without an offset")
    return read.timestamp()


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
