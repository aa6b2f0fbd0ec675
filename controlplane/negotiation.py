"""Which form of an answer a script may ask for: JSON, or JSON's form for errors, which is JSON all the same."""

from collections.abc import Iterable

from rest_framework.exceptions import NotAcceptable
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from controlplane.problems import CONTENT_TYPE


class ProblemsAccepted(DefaultContentNegotiation):
    """Whoever takes errors as RFC 9457 lays them out takes JSON: errors come so, and all else as JSON."""

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        try:
            found: tuple[BaseRenderer, str] = super().select_renderer(request, renderers, format_suffix)
        except NotAcceptable:
            accepted = [each.partition(";")[0].strip().lower() for each in self.get_accept_list(request)]
            if CONTENT_TYPE not in accepted:
                raise
            first = next(iter(renderers))
            found = first, first.media_type
        return found
