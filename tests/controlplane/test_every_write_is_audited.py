"""Every address that changes something leaves a row in the audit trail, also one that is yet to be written."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone
from rest_framework.test import APIClient

from apps.accounts.models import AuditEntry, User
from apps.accounts.tokens import create_token
from apps.clusters import rollouts
from apps.clusters.models import Cluster, PgpoolInstance, Rollout
from apps.clusters.registration import register
from apps.clusters.weight_change import request_weights
from tests.clusters.registration_scene import SECRET, Scene, pgpools_running
from tests.clusters.test_registration_pages import typed
from tests.clusters.test_registry_rest import description, pgpool
from tests.clusters.test_settings_of_pgpools import changed_pgpool, new_pgpool
from tests.clusters.test_settings_pages import places

pytestmark = pytest.mark.django_db

WRITING = ("POST", "PUT", "PATCH", "DELETE")
OWN_PASSWORD = "correct horse battery"
# What changes nothing that belongs to an organisation, and why nobody has to be able to look it up.
UNAUDITED = {
    ("POST", "account_login"): "signing in",
    ("POST", "account_logout"): "signing out",
    ("POST", "sign-in-link"): "signing in",
    ("POST", "cluster-register-test"): "a connection test stores nothing",
    ("POST", "cluster-register-pgpool"): "one more empty row of a form",
    ("POST", "cluster-weights-preview"): "a preview stores nothing",
    ("POST", "api-test-connection"): "a connection test stores nothing",
    ("POST", "api-weights-preview"): "a preview stores nothing",
    ("POST", "api-routing-verdict"): "a calculator knows nothing but its input",
}


@dataclass(frozen=True)
class World:
    """A cluster of two pgpools, a third one that is not registered, and an admin in a browser and as a script."""

    scene: Scene
    cluster: Cluster
    caller: Any
    browser: Client
    script: APIClient

    @property
    def first(self) -> PgpoolInstance:
        return self.cluster.instances.get(name="pgpool-1")

    @property
    def token_id(self) -> int:
        now = timezone.now()
        ends = now + timedelta(days=1)
        return create_token(caller=self.caller, name="to revoke", scope="read", expires_at=ends, now=now)[0].pk

    def rollout(self) -> Rollout:
        weights = {"0": 0, "1": 1, "2": 3}
        return request_weights(caller=self.caller, cluster=self.cluster, weights=weights, now=timezone.now())

    def finished_rollout(self) -> Rollout:
        rollout = self.rollout()
        rollouts.advance(rollout_id=rollout.pk, holder="worker", clock=timezone.now)
        rollout.refresh_from_db()
        assert rollout.state == Rollout.State.VERIFIED
        return rollout

    def post(self, name: str, given: dict[str, Any] | None = None, **parameters: Any) -> HttpResponse:
        address = reverse(name, kwargs={"organisation": "acme", **parameters})
        return self.browser.post(address, given or {})


@pytest.fixture
def world(
    tmp_path: Path,
    settings: Any,
    caller: Callable[..., Any],
    client_for: Callable[..., Client],
    api_client: Callable[..., APIClient],
) -> Iterator[World]:
    with pgpools_running(tmp_path, settings, count=3) as scene:
        two = tuple(scene.pgpool(number) for number in range(2))
        cluster = register(caller=caller("admin"), wanted=scene.wanted(pgpools=two), now=timezone.now())
        yield World(scene, cluster, caller("admin"), client_for("admin"), api_client("admin"))


def change_password(world: World) -> HttpResponse:
    user = User.objects.get(email="admin@acme.example")
    user.set_password(OWN_PASSWORD)
    user.save()
    world.browser.force_login(user)
    new = f"{OWN_PASSWORD} staple"
    given = {"oldpassword": OWN_PASSWORD, "password1": new, "password2": new}
    return world.browser.post(reverse("account_change_password"), given)


def set_password(world: World) -> HttpResponse:
    user = User.objects.get(email="admin@acme.example")
    user.set_unusable_password()
    user.save()
    world.browser.force_login(user)
    return world.browser.post(reverse("account_set_password"), {"password1": OWN_PASSWORD, "password2": OWN_PASSWORD})


def register_a_second(world: World) -> HttpResponse:
    alone = Scene(world.scene.folder, world.scene.pgpools[2:])
    return world.post("cluster-register", typed(alone, name="Second"))


def register_by_rest(world: World) -> HttpResponse:
    body = description(world.scene, name="Second", pgpools=[pgpool(world.scene, 2)])
    return world.script.post("/api/v1/clusters/", body)


def make_token(world: World) -> HttpResponse:
    person = APIClient()
    person.force_login(world.caller.user)
    ends = timezone.now() + timedelta(days=1)
    return person.post("/api/v1/tokens/", {"name": "script", "scope": "read", "expires_at": ends.isoformat()})


SHARES = {"weight_0": "0", "weight_1": "25", "weight_2": "75"}
CREDENTIALS = {"username": "lifeguard", "password": SECRET, "sslmode": "prefer"}
ORDERS = "/api/v1/clusters/orders/"
# Method and address -> the action that the row names, and a request that succeeds.
WRITES: dict[tuple[str, str], tuple[str, Callable[[World], HttpResponse]]] = {
    ("POST", "account_change_password"): ("password.changed", change_password),
    ("POST", "account_set_password"): ("password.changed", set_password),
    ("POST", "token-create"): (
        "token.created",
        lambda w: w.post("token-create", {"name": "x", "scope": "read", "life_days": "7"}),
    ),
    ("POST", "token-revoke"): ("token.revoked", lambda w: w.post("token-revoke", token_id=w.token_id)),
    ("POST", "cluster-register"): ("cluster.register", register_a_second),
    ("POST", "cluster-weights"): ("weights.requested", lambda w: w.post("cluster-weights", SHARES, slug="orders")),
    ("POST", "cluster-name"): (
        "cluster.change",
        lambda w: w.post("cluster-name", {"name": "Orders EU"}, slug="orders"),
    ),
    ("POST", "cluster-credentials"): (
        "cluster.change",
        lambda w: w.post("cluster-credentials", CREDENTIALS, slug="orders"),
    ),
    ("POST", "cluster-places"): (
        "cluster.change",
        lambda w: w.post("cluster-places", places(w.cluster, **{"backend-0-az": "eu-1a"}), slug="orders"),
    ),
    ("POST", "cluster-pgpool-add"): (
        "cluster.pgpool.add",
        lambda w: w.post("cluster-pgpool-add", new_pgpool(w.scene.pgpools[2]), slug="orders"),
    ),
    ("POST", "cluster-pgpool"): (
        "cluster.change",
        lambda w: w.post(
            "cluster-pgpool", changed_pgpool(w.first, delivery="observe", path=""), slug="orders", pk=w.first.pk
        ),
    ),
    ("POST", "cluster-pgpool-drop"): (
        "cluster.pgpool.remove",
        lambda w: w.post("cluster-pgpool-drop", slug="orders", pk=w.first.pk),
    ),
    ("POST", "cluster-remove"): (
        "cluster.remove",
        lambda w: w.post("cluster-remove", {"confirm": "orders"}, slug="orders"),
    ),
    ("POST", "rollout-rollback"): (
        "rollout.rollback_requested",
        lambda w: w.post("rollout-rollback", pk=w.finished_rollout().pk),
    ),
    ("POST", "rollout-cancel"): ("rollout.cancel_requested", lambda w: w.post("rollout-cancel", pk=w.rollout().pk)),
    ("POST", "api-tokens"): ("token.created", make_token),
    ("DELETE", "api-token"): ("token.revoked", lambda w: w.script.delete(f"/api/v1/tokens/{w.token_id}/")),
    ("POST", "api-clusters"): ("cluster.register", register_by_rest),
    ("PATCH", "api-cluster"): ("cluster.change", lambda w: w.script.patch(ORDERS, {"name": "Orders EU"})),
    ("DELETE", "api-cluster"): ("cluster.remove", lambda w: w.script.delete(ORDERS)),
    ("POST", "api-pgpools"): ("cluster.pgpool.add", lambda w: w.script.post(f"{ORDERS}pgpools/", pgpool(w.scene, 2))),
    ("DELETE", "api-pgpool"): ("cluster.pgpool.remove", lambda w: w.script.delete(f"{ORDERS}pgpools/pgpool-1/")),
    ("PUT", "api-weights"): (
        "weights.requested",
        lambda w: w.script.put(f"{ORDERS}weights/", {"weights": {"0": 0, "1": 1, "2": 3}}),
    ),
    ("POST", "api-rollout-rollback"): (
        "rollout.rollback_requested",
        lambda w: w.script.post(f"/api/v1/rollouts/{w.finished_rollout().pk}/rollback/"),
    ),
    ("POST", "api-rollout-cancel"): (
        "rollout.cancel_requested",
        lambda w: w.script.post(f"/api/v1/rollouts/{w.rollout().pk}/cancel/"),
    ),
}


def patterns(found: list[URLPattern | URLResolver], before: str = "") -> Iterator[tuple[str, URLPattern]]:
    for each in found:
        if isinstance(each, URLResolver):
            yield from patterns(each.url_patterns, before + str(each.pattern))
        else:
            yield before + str(each.pattern), each


def methods_of(route: str, pattern: URLPattern, browser: Client) -> set[str]:
    """Which methods an address takes: a class says so itself, a function when it refuses one that nobody takes."""
    view = getattr(pattern.callback, "cls", None) or getattr(pattern.callback, "view_class", None)
    if view is not None:
        return {name.upper() for name in view.http_method_names if hasattr(view, name)}
    for parameter, value in {"<slug:organisation>": "acme", "<slug:slug>": "orders"}.items():
        route = route.replace(parameter, value)
    for parameter in ("<int:pk>", "<int:number>", "<int:token_id>", "<str:key>"):
        route = route.replace(parameter, "1")
    assert "<" not in route, f"say what to put into {route}"
    refused = browser.trace(f"/{route}")
    assert refused.status_code == 405, f"/{route} takes any method: say which by require_GET, require_POST …"
    return {method.strip() for method in refused["Allow"].split(",")}


def test_every_address_that_takes_a_write_is_swept(world: World) -> None:
    taken = {
        (method, str(pattern.name))
        for route, pattern in patterns(get_resolver().url_patterns)
        for method in methods_of(route, pattern, world.browser)
        if method in WRITING
    }
    # allauth takes PUT as POST on its forms, and has one page that takes nothing.
    taken = {(method, name) for method, name in taken if not (name.startswith("account_") and method == "PUT")}

    assert taken == set(WRITES) | set(UNAUDITED)


@pytest.mark.parametrize("write", WRITES, ids=" ".join)
def test_a_write_leaves_a_row_in_the_audit_trail(world: World, write: tuple[str, str]) -> None:
    action, request = WRITES[write]

    answer = request(world)

    assert answer.status_code in {200, 201, 202, 204, 302, 303}, answer.content
    entry = AuditEntry.objects.latest("pk")
    assert (entry.action, entry.organisation.slug) == (action, "acme")
    assert entry.actor_name.startswith("Admin")
    assert SECRET not in str((entry.before, entry.after))
