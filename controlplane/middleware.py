"""What Django's own middleware does a little otherwise here."""

from django.http import HttpResponsePermanentRedirect
from django.middleware.common import CommonMiddleware


class SameMethodRedirect(HttpResponsePermanentRedirect):
    """308: the browser or script sends the same method and body again."""

    def __init__(self, redirect_to: str) -> None:
        super().__init__(redirect_to, preserve_request=True)


class SlashMiddleware(CommonMiddleware):
    """Sends an address without its slash at the end on, and keeps the method.

    A 301 would turn a script's POST into a GET, whose 200 then reads as if something had been stored.
    """

    response_redirect_class = SameMethodRedirect
