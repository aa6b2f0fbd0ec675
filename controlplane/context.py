"""What the frame of every page shows: who is signed in, their organisations, the part of the product, the version."""

from typing import Any

from django.http import HttpRequest

from apps.accounts.access import Caller, organisations_of
from controlplane import __version__


def frame(request: HttpRequest) -> dict[str, Any]:
    caller: Caller | None = getattr(request, "caller", None)
    return {
        "version": __version__,
        "caller": caller,
        # Called by the template: pages outside the frame ask nothing.
        "organisations": lambda: organisations_of(request.user),
        "section": _section(request.path),
        "live_topics": f"organisation.{caller.organisation.pk}" if caller else "",
    }


def _section(path: str) -> str:
    """/o/<organisation>/<section>/… -> section; the organisation's own page is the fleet."""
    parts = path.strip("/").split("/")
    if parts[0] != "o":
        return ""
    return parts[2] if len(parts) > 2 else "fleet"
