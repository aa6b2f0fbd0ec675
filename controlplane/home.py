"""The front door: sends people to their organisation; the answers for what is not there, not allowed, or failed."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.template import loader
from django.urls import Resolver404
from django.views import defaults
from django.views.decorators.http import require_safe

from apps.accounts.access import organisations_of
from controlplane.problems import CONTENT_TYPE

NO_SUCH_ADDRESS = "There is nothing at this address."


@require_safe
@login_required
def home(request: HttpRequest) -> HttpResponse:
    organisation = organisations_of(request.user).first()
    if organisation is None:
        return render(request, "no_organisation.html", status=403)
    return redirect("fleet", organisation=organisation.slug)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    # The resolver's own words list every address of the installation.
    reason = NO_SUCH_ADDRESS if isinstance(exception, Resolver404) else str(exception) or NO_SUCH_ADDRESS
    if _is_rest(request):
        return _problem("not-found", 404, "Not found", reason)
    return render(request, "404.html", {"reason": reason}, status=404)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    reason = str(exception) or "Your role does not reach this far."
    if _is_rest(request):
        return _problem("permission-denied", 403, "Not allowed", reason)
    return render(request, "403.html", {"reason": reason}, status=403)


def refused(request: HttpRequest, exception: Exception) -> HttpResponse:
    """handler400: what Django itself refuses, as a host name that is not ours, or more fields than it counts."""
    if _is_rest(request):
        return _problem("refused", 400, "Refused", "This request cannot be read: look at its host name and its size.")
    return defaults.bad_request(request, exception)


def failed(request: HttpRequest) -> HttpResponse:
    if _is_rest(request):
        detail = "Lifeguard failed on this request. Its log says why; nothing was changed half."
        return _problem("failed", 500, "Failed", detail)
    # No context processors here: whatever broke may break them too.
    return HttpResponse(loader.get_template("500.html").template.source, status=500)  # type: ignore[attr-defined]


def csrf_refused(request: HttpRequest, reason: str = "") -> HttpResponse:
    """CSRF_FAILURE_VIEW: mostly a page that stayed open while its user signed out or in again."""
    shown = "This form is from an earlier session. Go back, reload the page and send it again."
    return render(request, "403.html", {"reason": shown}, status=403)


def _is_rest(request: HttpRequest) -> bool:
    return request.path.startswith("/api/")


def _problem(kind: str, status: int, title: str, detail: str) -> JsonResponse:
    body = {"type": f"urn:lifeguard:{kind}", "title": title, "status": status, "detail": detail}
    return JsonResponse(body, status=status, content_type=CONTENT_TYPE)
