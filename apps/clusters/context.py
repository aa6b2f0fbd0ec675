"""What the frame of every page shows of clusters: whether their writes are stopped."""

from typing import Any

from django.http import HttpRequest

from apps.accounts.access import Caller
from apps.clusters.queries.writes import writes_answer


def frame(request: HttpRequest) -> dict[str, Any]:
    caller: Caller | None = getattr(request, "caller", None)
    # Called by the template: pages outside the frame, and fragments, ask nothing.
    return {"writes": lambda: writes_answer(organisation=caller.organisation) if caller else None}
