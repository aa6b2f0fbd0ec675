"""Signing in by a one-time link."""

from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from apps.accounts.see_other import see_other
from apps.accounts.sign_in_links import look_up, use_link

BACKEND = "allauth.account.auth_backends.AuthenticationBackend"


@never_cache
@require_http_methods(["GET", "POST"])
def sign_in_by_link(request: HttpRequest, key: str) -> HttpResponse:
    """GET asks and POST spends the link, so that whatever previews addresses does not spend it."""
    if request.method == "POST":
        user = use_link(key=key, now=timezone.now())
        if user is not None:
            login(request, user, backend=BACKEND)
            return see_other("home")
        return render(request, "accounts/sign_in_link_spent.html", status=410)
    link = look_up(key=key, now=timezone.now())
    if link is None:
        return render(request, "accounts/sign_in_link_spent.html", status=410)
    return render(request, "accounts/sign_in_link.html", {"email": link.user.email})
