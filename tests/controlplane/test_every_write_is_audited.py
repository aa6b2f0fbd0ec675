"""Every address that changes something leaves a row in the audit trail, also one that is yet to be written."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone
from rest_framework.test import APIClient

from apps.accounts.models import AuditEntry, User
from apps.clusters.control import role_weights
from apps.clusters.models import RoleProposal
from apps.clusters.outside.delivery.ssh_keys import new_key
from apps.clusters.polling import file_watch
from apps.clusters.registry.registration import register
from apps.clusters.registry.registry_export import export_yaml
from tests.clusters.registration_scene import SECRET, Scene, pgpools_running
from tests.clusters.seen_cluster import poll
from tests.clusters.test_registration_pages import typed
from tests.clusters.test_registry_rest import description, pgpool
from tests.clusters.test_settings_of_pgpools import changed_pgpool, new_pgpool
from tests.clusters.test_settings_pages import places
from tests.controlplane.benchmark_writes import BENCHMARK_WRITES
from tests.controlplane.write_world import World

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
    ("POST", "cluster-draft-parameter"): "a draft is its author's own, and changes nothing",
    ("POST", "cluster-draft-weights"): "a draft is its author's own, and changes nothing",
    ("POST", "cluster-draft-weights-each"): "a draft is its author's own, and changes nothing",
    ("POST", "cluster-draft-drop"): "a draft is its author's own, and changes nothing",
    ("POST", "cluster-draft-discard"): "a draft is its author's own, and changes nothing",
    ("POST", "cluster-draft-looked-at"): "a draft is its author's own, and changes nothing",
    ("POST", "rollout-redraft"): "a draft is its author's own, and changes nothing",
    ("POST", "api-rollout-redraft"): "a draft is its author's own, and changes nothing",
    ("POST", "cluster-functions-draft"): "a draft is its author's own, and changes nothing",
    ("POST", "api-functions-draft"): "a draft is its author's own, and changes nothing",
    ("PATCH", "api-draft"): "a draft is its author's own, and changes nothing",
    ("DELETE", "api-draft"): "a draft is its author's own, and changes nothing",
    ("POST", "api-validate"): "a validation touches nothing",
    ("POST", "api-test-connection"): "a connection test stores nothing",
    ("POST", "api-weights-preview"): "a preview stores nothing",
    ("POST", "api-parameters-preview"): "a preview stores nothing",
    ("POST", "api-draft-preview"): "a preview stores nothing",
    ("POST", "api-routing-verdict"): "a calculator knows nothing but its input",
    ("POST", "api-endpoint-try"): "a connection test stores nothing",
    ("POST", "endpoint-try"): "a connection test stores nothing",
    ("POST", "api-compare"): "a calculator knows nothing but its input",
    ("POST", "api-break-even"): "a calculator knows nothing but its input",
    ("POST", "api-warm-up"): "a calculator knows nothing but its input",
    ("POST", "api-sanity"): "a calculator knows nothing but its input",
}


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


def edit_by_hand(world: World) -> None:
    """The first pgpool.conf, after it was seen as it was."""
    file_watch.look(holder="watcher", clock=timezone.now)
    conf = Path(world.first.delivery_path)
    conf.write_text(conf.read_text() + "# by hand\n")


def with_drift(name: str, world: World) -> HttpResponse:
    edit_by_hand(world)
    if name.startswith("api-"):
        return world.script.post(reverse(name, kwargs={"slug": "orders"}), {})
    return world.post(name, slug="orders")


def renamed(world: World) -> str:
    return export_yaml(world.cluster.organisation).replace("name: Orders", "name: Orders EU")


def import_on_the_page(world: World) -> HttpResponse:
    file = SimpleUploadedFile("registry.yaml", renamed(world).encode())
    return world.post("registry-import", {"file": file, "do": "import"})


def by_role(world: World) -> World:
    """Weights by role are wanted, and pg1 is the primary since a moment."""
    now = timezone.now()
    poll(world.cluster, seen_at=now)
    role_weights.keep(
        caller=world.caller, cluster=world.cluster, primary_share=0.2, applies_itself=False, pause_s=0, now=now
    )
    RoleProposal.objects.create(cluster=world.cluster, at=now, primary_node_id=0, previous_node_id=1)
    return world


def roll_out_a_draft(world: World) -> HttpResponse:
    world.post("cluster-draft-parameter", {"name": "max_pool", "value": "8"}, slug="orders")
    return world.post("cluster-draft-roll-out", slug="orders")


def roll_out_a_draft_by_rest(world: World) -> HttpResponse:
    world.script.patch(f"{ORDERS}draft/", {"parameters": {"max_pool": "8"}})
    return world.script.post(f"{ORDERS}draft/rollout/", {})


def weights_of_each(world: World) -> HttpResponse:
    given = {f"weight_{each.pk}_{node_id}": node_id for each in world.cluster.instances.all() for node_id in range(3)}
    return world.post("cluster-weights-each", given, slug="orders")


SHARES = {"weight_0": "0", "weight_1": "25", "weight_2": "75"}
CREDENTIALS = {"username": "lifeguard", "password": SECRET, "sslmode": "prefer"}
DRAIN = {"reason": "", "wait_minutes": "30"}
ENDS = {"cancel": "cancelled", "go-on": "went_on"}
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
    ("POST", "cluster-role-weights"): (
        "role_weights.changed",
        lambda w: w.post("cluster-role-weights", {"primary_percent": "20"}, slug="orders"),
    ),
    ("POST", "cluster-role-weights-forget"): (
        "role_weights.changed",
        lambda w: w.post("cluster-role-weights-forget", slug="orders"),
    ),
    ("POST", "cluster-role-weights-apply"): (
        "weights.requested",
        lambda w: by_role(w).post("cluster-role-weights-apply", slug="orders"),
    ),
    ("POST", "cluster-role-weights-dismiss"): (
        "role_weights.dismissed",
        lambda w: by_role(w).post("cluster-role-weights-dismiss", slug="orders"),
    ),
    ("PUT", "api-role-weights"): (
        "role_weights.changed",
        lambda w: w.script.put(f"{ORDERS}role-weights/", {"primary_share": 0.2}),
    ),
    ("POST", "api-role-weights-apply"): (
        "weights.requested",
        lambda w: by_role(w).script.post(f"{ORDERS}role-weights/apply/"),
    ),
    ("POST", "api-role-weights-dismiss"): (
        "role_weights.dismissed",
        lambda w: by_role(w).script.post(f"{ORDERS}role-weights/dismiss/"),
    ),
    ("POST", "cluster-draft-roll-out"): ("parameters.requested", roll_out_a_draft),
    ("POST", "api-draft-rollout"): ("parameters.requested", roll_out_a_draft_by_rest),
    ("POST", "cluster-revision-roll-out"): (
        "rollout.rollback_requested",
        lambda w: w.post("cluster-revision-roll-out", slug="orders", number=w.finished_rollout().revision.number),
    ),
    ("POST", "rollout-rollback"): (
        "rollout.rollback_requested",
        lambda w: w.post("rollout-rollback", pk=w.finished_rollout().pk),
    ),
    ("POST", "rollout-pause"): ("rollout.paused", lambda w: w.post("rollout-pause", pk=w.rollout().pk)),
    ("POST", "rollout-resume"): ("rollout.resumed", lambda w: w.post("rollout-resume", pk=w.paused_rollout().pk)),
    ("POST", "rollout-cancel"): ("rollout.cancel_requested", lambda w: w.post("rollout-cancel", pk=w.rollout().pk)),
    ("POST", "cluster-functions-survey"): (
        "functions.survey_requested",
        lambda w: w.post("cluster-functions-survey", {"database": "shop"}, slug="orders"),
    ),
    ("POST", "api-functions-survey"): (
        "functions.survey_requested",
        lambda w: w.script.post(f"{ORDERS}functions/survey/", {"database": "shop"}),
    ),
    ("POST", "registry-import"): ("cluster.change", import_on_the_page),
    ("POST", "api-registry"): (
        "cluster.change",
        lambda w: w.script.post("/api/v1/clusters-registry/", {"yaml": renamed(w)}),
    ),
    ("POST", "cluster-observe"): (
        "cluster.change",
        lambda w: w.post("cluster-observe", {"observe-confirm": "orders"}, slug="orders"),
    ),
    ("POST", "writes-observe"): (
        "organisation.observe_only",
        lambda w: w.post("writes-observe", {"observe-confirm": "acme"}),
    ),
    ("PUT", "api-observe-only"): (
        "cluster.change",
        lambda w: w.script.put(f"{ORDERS}observe-only/", {"observe_only": True, "confirm": "orders"}),
    ),
    ("PUT", "api-organisation-observe-only"): (
        "organisation.observe_only",
        lambda w: w.script.put("/api/v1/observe-only/", {"observe_only": True, "confirm": "acme"}),
    ),
    ("POST", "writes-stop"): ("writes.stopped", lambda w: w.post("writes-stop")),
    ("POST", "writes-allow"): ("writes.allowed", lambda w: w.post("writes-stop") and w.post("writes-allow")),
    ("PUT", "api-writes-allowed"): (
        "writes.stopped",
        lambda w: w.script.put("/api/v1/writes-allowed/", {"allowed": False}),
    ),
    ("POST", "cluster-weights-each"): ("weights.requested", weights_of_each),
    ("POST", "cluster-drift-adopt"): ("drift.adopted", lambda w: with_drift("cluster-drift-adopt", w)),
    ("POST", "cluster-drift-revert"): ("drift.reverted", lambda w: with_drift("cluster-drift-revert", w)),
    ("POST", "api-drift-adopt"): ("drift.adopted", lambda w: with_drift("api-drift-adopt", w)),
    ("POST", "api-drift-revert"): ("drift.reverted", lambda w: with_drift("api-drift-revert", w)),
    ("POST", "cluster-debt-give"): ("debt.given", lambda w: w.post("cluster-debt-give", slug="orders", pk=w.debt())),
    ("POST", "cluster-debt-forgive"): (
        "debt.forgiven",
        lambda w: w.post("cluster-debt-forgive", slug="orders", pk=w.debt()),
    ),
    ("POST", "api-debt-give"): ("debt.given", lambda w: w.script.post(f"{ORDERS}debts/{w.debt()}/give/")),
    ("POST", "api-debt-forgive"): ("debt.forgiven", lambda w: w.script.post(f"{ORDERS}debts/{w.debt()}/forgive/")),
    ("POST", "ssh-key-create"): ("ssh_key.replaced", lambda w: w.post("ssh-key-create")),
    ("POST", "ssh-key-own-create"): (
        "ssh_key.replaced",
        lambda w: w.post("ssh-key-own-create", {"private_key": new_key("own").private}),
    ),
    ("POST", "api-ssh-key"): ("ssh_key.replaced", lambda w: w.script.post("/api/v1/ssh-key/")),
    ("PUT", "api-ssh-key"): (
        "ssh_key.replaced",
        lambda w: w.script.put("/api/v1/ssh-key/", {"private_key": new_key("own").private}),
    ),
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
    ("PUT", "api-parameters"): (
        "parameters.requested",
        lambda w: w.script.put(f"{ORDERS}parameters/", {"parameters": {"max_pool": "8"}}),
    ),
    ("POST", "api-revision-rollout"): (
        "rollout.rollback_requested",
        lambda w: w.script.post(f"/api/v1/clusters/orders/revisions/{w.finished_rollout().revision.number}/rollout/"),
    ),
    ("POST", "api-rollout-rollback"): (
        "rollout.rollback_requested",
        lambda w: w.script.post(f"/api/v1/rollouts/{w.finished_rollout().pk}/rollback/"),
    ),
    ("POST", "api-rollout-pause"): (
        "rollout.paused",
        lambda w: w.script.post(f"/api/v1/rollouts/{w.rollout().pk}/pause/"),
    ),
    ("POST", "api-rollout-resume"): (
        "rollout.resumed",
        lambda w: w.script.post(f"/api/v1/rollouts/{w.paused_rollout().pk}/resume/"),
    ),
    **{
        ("POST", f"cluster-backend-{kind}"): (
            f"backend.{kind}.requested",
            lambda w, kind=kind: w.post(f"cluster-backend-{kind}", DRAIN, slug="orders", node_id=w.backend(kind)),
        )
        for kind in ("attach", "detach", "drain")
    },
    **{
        ("POST", f"api-backend-{kind}"): (
            f"backend.{kind}.requested",
            lambda w, kind=kind: w.script.post(f"{ORDERS}backends/{w.backend(kind)}/{kind}/", {}),
        )
        for kind in ("attach", "detach", "drain")
    },
    **{
        ("POST", f"cluster-operation-{name}"): (
            f"backend.drain.{action}",
            lambda w, name=name: w.post(f"cluster-operation-{name}", slug="orders", operation_id=w.drain()),
        )
        for name, action in ENDS.items()
    },
    **{
        ("POST", f"api-operation-{name}"): (
            f"backend.drain.{action}",
            lambda w, name=name: w.script.post(f"{ORDERS}operations/{w.drain()}/{name}/"),
        )
        for name, action in ENDS.items()
    },
    ("POST", "cluster-restart-start"): (
        "pgpools.restart.requested",
        lambda w: w.post("cluster-restart-start", {"instances": ["pgpool-1"]}, slug="orders"),
    ),
    ("POST", "cluster-restart-cancel"): (
        "pgpools.restart.cancelled",
        lambda w: w.post("cluster-restart-cancel", slug="orders", pk=w.restart()),
    ),
    ("POST", "api-restarts"): (
        "pgpools.restart.requested",
        lambda w: w.script.post(f"{ORDERS}restarts/", {"instances": ["pgpool-1"]}),
    ),
    ("POST", "api-restart-cancel"): (
        "pgpools.restart.cancelled",
        lambda w: w.script.post(f"{ORDERS}restarts/{w.restart()}/cancel/"),
    ),
    ("POST", "api-rollout-cancel"): (
        "rollout.cancel_requested",
        lambda w: w.script.post(f"/api/v1/rollouts/{w.rollout().pk}/cancel/"),
    ),
    **BENCHMARK_WRITES,
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
    for parameter in ("<int:pk>", "<int:number>", "<int:token_id>", "<int:node_id>", "<int:operation_id>", "<str:key>"):
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
