"""API tokens of a member: list, make (the secret is shown once), revoke."""

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from apps.accounts.access import Caller, page
from apps.accounts.forms import TokenForm
from apps.accounts.see_other import see_other
from apps.accounts.tokens import create_token, revoke_token, tokens_for


@require_GET
@page()
def settings_home(request: HttpRequest, caller: Caller) -> HttpResponse:
    return redirect("token-list", organisation=caller.organisation.slug)


@require_GET
@page()
def token_list(request: HttpRequest, caller: Caller) -> HttpResponse:
    return _token_page(request, caller, TokenForm())


@never_cache
@require_POST
@page()
def token_create(request: HttpRequest, caller: Caller) -> HttpResponse:
    """The answer shows the secret; there is no redirect, since nothing keeps it until the next request."""
    form = TokenForm(request.POST)
    if not form.is_valid():
        return _token_page(request, caller, form, status=422)
    now = timezone.now()
    token, secret = create_token(
        caller=caller,
        name=form.cleaned_data["name"],
        scope=form.cleaned_data["scope"],
        expires_at=form.expires_at(now),
        now=now,
    )
    return render(request, "accounts/token_created.html", {"token": token, "secret": secret}, status=201)


@require_POST
@page()
def token_revoke(request: HttpRequest, caller: Caller, token_id: int) -> HttpResponse:
    token = tokens_for(caller).filter(pk=token_id).first()
    if token is None:
        raise Http404(f"You have no token {token_id}.")
    revoke_token(caller=caller, token=token, now=timezone.now())
    messages.success(request, f"Token {token.name} is revoked: requests with it are refused from now on.")
    return see_other("token-list", organisation=caller.organisation.slug)


def _token_page(request: HttpRequest, caller: Caller, form: TokenForm, status: int = 200) -> HttpResponse:
    tokens = tokens_for(caller).order_by("-pk")
    context = {"form": form, "tokens": tokens, "now": timezone.now()}
    return render(request, "accounts/token_list.html", context, status=status)
