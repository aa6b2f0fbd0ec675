"""After a form: the address to look at next."""

from typing import Any

from django.http import HttpResponseRedirect
from django.shortcuts import resolve_url


class HttpResponseSeeOther(HttpResponseRedirect):
    """Asks for a GET whatever the request was; 302 leaves that to the client."""

    status_code = 303


def see_other(to: str, **parameters: Any) -> HttpResponseSeeOther:
    return HttpResponseSeeOther(resolve_url(to, **parameters))
