"""The front door: sends people to their organisation; the pages for what is not there, not allowed, or failed."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template import loader

from apps.accounts.access import organisations_of


@login_required
def home(request: HttpRequest) -> HttpResponse:
    organisation = organisations_of(request.user).first()
    if organisation is None:
        return render(request, "no_organisation.html", status=403)
    return redirect("fleet", organisation=organisation.slug)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return render(request, "404.html", {"reason": str(exception)}, status=404)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return render(request, "403.html", {"reason": str(exception)}, status=403)


def failed(request: HttpRequest) -> HttpResponse:
    # No context processors here: whatever broke may break them too.
    return HttpResponse(loader.get_template("500.html").template.source, status=500)
