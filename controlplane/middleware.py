"""What Django's own middleware does a little otherwise here."""

from django.conf import settings
from django.http import HttpRequest, HttpResponsePermanentRedirect
from django.http.response import HttpResponseBase
from django.middleware.common import CommonMiddleware
from django.utils.deprecation import MiddlewareMixin


class SameMethodRedirect(HttpResponsePermanentRedirect):
    """308: the browser or script sends the same method and body again."""

    def __init__(self, redirect_to: str) -> None:
        super().__init__(redirect_to, preserve_request=True)


class SlashMiddleware(CommonMiddleware):
    """Sends an address without its slash at the end on, and keeps the method.

    A 301 would turn a script's POST into a GET, whose 200 then reads as if something had been stored.
    """

    response_redirect_class = SameMethodRedirect


class PrivateMiddleware(MiddlewareMixin):
    """Keeps what a signed-in person or a token is answered out of every cache, the browser's own too.

    Who signs out leaves nothing behind that the back button shows. Files that anybody may have are answered by
    WhiteNoise before, and keep their own rules. The session itself is not read: it may not be there to be read.
    """

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        is_known = settings.SESSION_COOKIE_NAME in request.COOKIES or "Authorization" in request.headers
        if (is_known or settings.SESSION_COOKIE_NAME in response.cookies) and not response.has_header("Cache-Control"):
            response["Cache-Control"] = "private, no-store"
        return response
