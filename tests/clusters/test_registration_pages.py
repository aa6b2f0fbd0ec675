"""The page that registers a cluster: who may, what the test tells, what is stored, what comes back when refused."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client

from apps.accounts.models import AuditEntry
from apps.clusters.models import Cluster, PgpoolInstance
from tests.clusters.registration_scene import SECRET, Scene, fake_with_file, pgpools_running
from tests.fake_show import FakeBackend, three_backends

pytestmark = pytest.mark.django_db
PAGE = "/o/acme/clusters/register/"
TEST = f"{PAGE}test/"
ROW = f"{PAGE}pgpool/"
ClientFor = Callable[..., Client]


@pytest.fixture
def scene(tmp_path: Path, settings: Any) -> Iterator[Scene]:
    with pgpools_running(tmp_path, settings) as running:
        yield running


@pytest.fixture
def admin(client_for: ClientFor) -> Client:
    return client_for("admin")


def typed(scene: Scene, **changes: str) -> dict[str, str]:
    """The form filled in for the first pgpool of the scene: PCP and a local file."""
    fake = scene.pgpools[0]
    return {
        "do": "register",
        "name": "Orders",
        "slug": "",
        "username": "lifeguard",
        "password": SECRET,
        "sslmode": "prefer",
        "pgpool-0-host": fake.host,
        "pgpool-0-port": str(fake.port),
        "pgpool-0-name": "",
        "pgpool-0-az": "us-east-1a",
        "pgpool-0-pcp_port": str(fake.pcp_port),
        "pgpool-0-pcp_user": fake.pcp_username,
        "pgpool-0-pcp_password": fake.pcp_password,
        "pgpool-0-delivery": "local",
        "pgpool-0-path": str(fake.conf),
        **changes,
    }


def second_pgpool(scene: Scene, **changes: str) -> dict[str, str]:
    fake = scene.pgpools[1]
    row = {"host": fake.host, "port": str(fake.port), "name": "", "az": "", "pcp_port": "", "pcp_user": ""}
    row |= {"pcp_password": "", "delivery": "observe", "path": "", **changes}
    return {f"pgpool-1-{name}": value for name, value in row.items()}


def text_of(response: HttpResponse) -> str:
    """What a reader sees, on one line."""
    return " ".join(re.sub(r"<[^>]+>", " ", response.content.decode()).split())


def problem_beside(response: HttpResponse, field: str) -> str:
    found = re.search(rf'id="id_{field}_error" role="alert">([^<]*)<', response.content.decode())
    return found[1] if found else ""


def test_an_admin_sees_the_form_with_what_the_role_needs(admin: Client) -> None:
    answer = admin.get(PAGE)

    assert answer.status_code == 200
    assert "GRANT pg_monitor TO lifeguard;" in text_of(answer)
    assert "Observe only: never writes" in text_of(answer)
    assert b'name="pgpool-0-host"' in answer.content


@pytest.mark.parametrize("role", ["viewer", "operator"])
@pytest.mark.parametrize("address", [PAGE, TEST, ROW])
def test_only_an_admin_registers(client_for: ClientFor, scene: Scene, role: str, address: str) -> None:
    answer = client_for(role).post(address, typed(scene))

    assert answer.status_code == 403
    assert "this needs the role admin" in text_of(answer)
    assert not Cluster.objects.exists()
    assert scene.pgpools[0].received == []


def test_an_organisation_that_one_is_no_member_of_is_not_there(admin: Client, other_organisation: Any) -> None:
    assert admin.get("/o/rival/clusters/register/").status_code == 404


def test_a_cluster_is_registered_and_its_page_follows(admin: Client, scene: Scene) -> None:
    zones = {"backend-1-az": "us-east-1b", "backend-1-address": "", "backend-1-described": "pg2"}

    answer = admin.post(PAGE, {**typed(scene), **second_pgpool(scene), **zones})

    assert (answer.status_code, answer["Location"]) == (303, "/o/acme/clusters/orders/")
    cluster = Cluster.objects.get(slug="orders")
    first, second = cluster.instances.order_by("name")
    assert (first.name, first.delivery_kind, first.delivery_path) == ("pgpool-1", "local", str(scene.pgpools[0].conf))
    assert (first.pcp_port, first.pcp_password) == (scene.pgpools[0].pcp_port, SECRET)
    assert (second.name, second.delivery_kind, second.pcp_port) == ("pgpool-2", "observe", None)
    assert list(cluster.backends.order_by("node_id").values_list("az", flat=True)) == ["", "us-east-1b", ""]
    assert AuditEntry.objects.get(action="cluster.register").user.email == "admin@acme.example"


def test_a_pgpool_that_another_cluster_watches_is_told_after_the_registration(admin: Client, scene: Scene) -> None:
    observed = {"pgpool-0-delivery": "observe", "pgpool-0-path": ""}
    admin.post(PAGE, typed(scene, **observed))

    page = admin.post(PAGE, typed(scene, name="Bills", **observed), follow=True)

    assert page.redirect_chain[-1][0] == "/o/acme/clusters/bills/"
    assert "is also watched in Orders" in text_of(page)


def test_a_row_that_was_left_empty_is_left_out(admin: Client, scene: Scene) -> None:
    empty = second_pgpool(scene, host="", port="9999")

    answer = admin.post(PAGE, {**typed(scene), **empty})

    assert answer.status_code == 303
    assert PgpoolInstance.objects.count() == 1


def test_a_pgpool_is_observed_only_unless_a_file_is_chosen(admin: Client, scene: Scene) -> None:
    chosen = {"pgpool-0-delivery": "observe", "pgpool-0-path": ""}

    admin.post(PAGE, typed(scene, **chosen))

    assert PgpoolInstance.objects.get().delivery_target is None


def test_the_test_tells_every_step_and_what_was_found_and_stores_nothing(admin: Client, scene: Scene) -> None:
    answer = admin.post(TEST, typed(scene, name=""))

    text = text_of(answer)
    assert answer.status_code == 200
    assert b'data-connection="ok"' in answer.content
    assert "Found 1 primary and 2 standbys behind 1 pgpool." in text
    assert "Pgpool-II 4.3.5, num_init_children 8, delay_threshold 2097152 bytes, balances by session" in text
    for step in ("Name resolution", "TCP", "TLS", "Authentication", "Privilege", "SHOW", "PCP", "Delivery"):
        assert step in text
    assert b"<html" not in answer.content
    assert not Cluster.objects.exists()


def test_tls_that_was_not_verified_has_no_green_tick(admin: Client, scene: Scene) -> None:
    answer = admin.post(TEST, typed(scene))

    [tls, *_] = [step for step in answer.content.decode().split("<li ") if '<b class="md">TLS</b>' in step]
    assert 'data-step="warning"' in tls
    assert "i-check" not in tls


def test_a_backend_that_does_not_answer_directly_is_a_warning(admin: Client, scene: Scene) -> None:
    answer = admin.post(TEST, typed(scene))

    assert "backend 0 127.0.0.1:25432" in text_of(answer)
    assert 'data-step="failed"' not in answer.content.decode()


def test_a_step_that_fails_comes_with_the_line_that_mends_it(admin: Client, scene: Scene) -> None:
    scene.pgpools[0].mode = "wrong_password"

    answer = admin.post(TEST, typed(scene))

    text = text_of(answer)
    assert b'data-connection="failed"' in answer.content
    assert "fails at: Authentication." in text
    assert "ALTER ROLE lifeguard PASSWORD" in text
    assert "not tried" in text


def test_zones_that_were_typed_outlive_a_further_test(admin: Client, scene: Scene) -> None:
    answer = admin.post(TEST, typed(scene, **{"backend-2-az": "us-east-1c", "backend-2-address": ""}))

    assert b'name="backend-2-az" value="us-east-1c"' in answer.content


def test_without_a_script_the_test_answers_with_the_whole_page(admin: Client, scene: Scene) -> None:
    answer = admin.post(PAGE, typed(scene, do="test", name=""))

    assert answer.status_code == 200
    assert "Found 1 primary and 2 standbys behind 1 pgpool." in text_of(answer)
    assert "Type the passwords again" in text_of(answer)
    assert b"<html" in answer.content
    assert not Cluster.objects.exists()


def test_a_test_of_an_unfinished_form_says_what_is_missing(admin: Client, scene: Scene) -> None:
    answer = admin.post(TEST, typed(scene, password="", **{"pgpool-0-port": "70000"}))

    assert answer.status_code == 422
    assert "Password: This field is required." in text_of(answer)
    assert "Pgpool 1: Port: Ensure this value is less than or equal to 65535." in text_of(answer)
    assert scene.pgpools[0].received == []


def test_one_more_pgpool_is_added_without_a_script(admin: Client, scene: Scene) -> None:
    answer = admin.post(PAGE, typed(scene, do="add", name=""))

    assert answer.status_code == 200
    assert b'name="pgpool-1-host"' in answer.content
    assert f'name="pgpool-0-port" value="{scene.pgpools[0].port}"'.encode() in answer.content
    assert b'role="alert"' not in answer.content


def test_one_more_pgpool_is_added_by_a_fragment(admin: Client, scene: Scene) -> None:
    answer = admin.post(ROW, {**typed(scene), **second_pgpool(scene)})

    assert b'name="pgpool-2-host"' in answer.content
    assert b'name="pgpool-1-host"' not in answer.content
    assert b"<html" not in answer.content


@pytest.mark.parametrize("do", ["register", "test", "add"])
def test_no_password_ever_comes_back(admin: Client, scene: Scene, do: str) -> None:
    """Register is refused here: the path lies elsewhere."""
    secrets = {"password": "first-s3cret", "pgpool-0-pcp_password": "other-s3cret", "pgpool-0-path": "/etc/pgpool.conf"}

    answer = admin.post(PAGE, typed(scene, do=do, **secrets))

    assert b"s3cret" not in answer.content
    assert not Cluster.objects.exists()


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"name": ""}, "name", "This field is required."),
        ({"slug": "two words"}, "slug", "valid"),
        ({"slug": "register"}, "slug", "a word that the dashboard uses itself"),
        ({"password": ""}, "password", "This field is required."),
        ({"password": "wrong"}, "password", "ALTER ROLE lifeguard PASSWORD"),
        ({"pgpool-0-host": "nowhere.invalid"}, "pgpool-0-host", "nowhere.invalid"),
        ({"pgpool-0-port": "nine"}, "pgpool-0-port", "whole number"),
        ({"pgpool-0-pcp_password": "wrong"}, "pgpool-0-pcp_password", "authentication"),
        ({"pgpool-0-pcp_password": ""}, "pgpool-0-pcp_password", "PCP needs port, user and password"),
        ({"pgpool-0-path": "/etc/passwd"}, "pgpool-0-path", "outside the directories allowed"),
        ({"pgpool-0-path": "pgpool.conf"}, "pgpool-0-path", "absolute path"),
        ({"pgpool-0-delivery": "observe"}, "pgpool-0-path", "writes no file"),
        ({"backend-7-az": "x", "backend-7-address": ""}, "backend-7-address", "no backend 7"),
        ({"backend-1-az": "", "backend-1-address": "10.0.0.1"}, "backend-1-address", "host:port"),
    ],
)
def test_what_is_refused_is_told_beside_its_field_and_nothing_is_stored(
    admin: Client, scene: Scene, changes: dict[str, str], field: str, words: str
) -> None:
    answer = admin.post(PAGE, typed(scene, **changes))

    assert answer.status_code == 422
    assert words.replace("'", "&#x27;") in problem_beside(answer, field)
    assert not Cluster.objects.exists()
    assert b'value="us-east-1a"' in answer.content  # what was typed is still there


def test_a_slug_that_is_taken_is_refused(admin: Client, scene: Scene) -> None:
    admin.post(PAGE, typed(scene))

    answer = admin.post(PAGE, typed(scene))

    assert answer.status_code == 422
    assert "there is a cluster orders in this organisation already" in problem_beside(answer, "slug").lower()
    assert Cluster.objects.count() == 1


def test_a_pgpool_that_numbers_the_backends_differently_is_refused(admin: Client, scene: Scene, tmp_path: Path) -> None:
    first, second, third = three_backends()
    swapped = [first, FakeBackend(1, port=third.port), FakeBackend(2, port=second.port)]
    with fake_with_file(tmp_path / "swapped", swapped).running() as other:
        row = second_pgpool(scene, port=str(other.port))

        answer = admin.post(PAGE, {**typed(scene), **row})

    assert answer.status_code == 422
    assert "numbers the backends differently" in problem_beside(answer, "pgpool-1-host")
    assert not Cluster.objects.exists()


def test_two_pgpools_of_one_name_are_refused_at_the_row_that_was_typed(admin: Client, scene: Scene) -> None:
    answer = admin.post(PAGE, {**typed(scene, **{"pgpool-0-name": "east"}), **second_pgpool(scene, name="east")})

    assert answer.status_code == 422
    assert "two pgpools would be called east" in problem_beside(answer, "pgpool-1-name").lower()


def test_without_allowed_directories_the_page_says_who_names_them(admin: Client, settings: Any) -> None:
    settings.LOCAL_DELIVERY_DIRECTORIES = []

    assert "LIFEGUARD_LOCAL_DELIVERY_DIRS names them" in text_of(admin.get(PAGE))
