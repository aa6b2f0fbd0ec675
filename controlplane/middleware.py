"""What Django's own middleware does a little otherwise here."""

from functools import partial

from django.http import HttpResponsePermanentRedirect
from django.middleware.common import CommonMiddleware


class SlashMiddleware(CommonMiddleware):
    """Sends an address without its slash at the end on with 308.

    A 301 would turn a script's POST into a GET, whose 200 then reads as if something had been stored.
    """

    response_redirect_class = partial(HttpResponsePermanentRedirect, preserve_request=True)  # type: ignore[assignment]  only called
