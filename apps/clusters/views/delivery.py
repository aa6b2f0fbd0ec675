"""Pages of deliveries: what is published for a pgpool, and the key that Lifeguard shows to hosts."""

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from apps.accounts.access import Caller, page
from apps.accounts.roles import Role
from apps.accounts.see_other import see_other
from apps.clusters.forms import fields
from apps.clusters.forms.refusals import sentence
from apps.clusters.outside.delivery.ssh_keys import LONGEST_KEY, KeyRefused
from apps.clusters.queries import delivery, lookup
from apps.clusters.registry import ssh_accounts
from apps.clusters.views.detail import cluster_context


class OwnKeyForm(forms.Form):
    private_key = forms.CharField(
        label="Private key",
        max_length=LONGEST_KEY,
        strip=False,
        help_text="the whole file, without a passphrase; stored encrypted and never shown again",
        widget=fields.SecretText(rows=5),
    )


@require_GET
@page()
def published_detail(request: HttpRequest, caller: Caller, slug: str, pk: int) -> HttpResponse:
    """What stands at the address that is fetched; its secrets are masked here."""
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    found = delivery.published_answer(instance=lookup.instance_by_pk(cluster=cluster, pk=pk))
    context = {**cluster_context(caller, cluster, "settings"), "published": found}
    return render(request, "clusters/published_detail.html", context)


@never_cache
@require_GET
@page(Role.ADMIN)
def ssh_key(request: HttpRequest, caller: Caller) -> HttpResponse:
    return _key_page(request, caller, OwnKeyForm())


@require_POST
@page(Role.ADMIN)
def ssh_key_create(request: HttpRequest, caller: Caller) -> HttpResponse:
    ssh_accounts.make_key(caller=caller)
    _tell(request, caller, "There is a new key. Put its line on every host before the next rollout.")
    return see_other("ssh-key", organisation=caller.organisation.slug)


@require_POST
@page(Role.ADMIN)
def ssh_key_own_create(request: HttpRequest, caller: Caller) -> HttpResponse:
    form = OwnKeyForm(request.POST)
    if not form.is_valid():
        return _key_page(request, caller, form, status=422)
    try:
        ssh_accounts.take_key(caller=caller, private_key=form.cleaned_data["private_key"])
    except KeyRefused as error:
        form.add_error("private_key", sentence(str(error)))
        return _key_page(request, caller, form, status=422)
    _tell(request, caller, "This key is shown to every host from now on.")
    return see_other("ssh-key", organisation=caller.organisation.slug)


def _tell(request: HttpRequest, caller: Caller, done: str) -> None:
    is_waiting = ssh_accounts.agent_of(caller.organisation) is not None
    waiting = "The key is stored. No host is shown it while an ssh-agent signs."
    messages.success(request, waiting if is_waiting else done)


def _key_page(request: HttpRequest, caller: Caller, form: OwnKeyForm, status: int = 200) -> HttpResponse:
    key = delivery.ssh_key_answer(organisation=caller.organisation)
    return render(request, "clusters/ssh_key.html", {"key": key, "form": form}, status=status)
