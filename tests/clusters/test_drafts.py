"""A draft gathers weights and parameters of one person; its page shows what they would do, and rolls them out."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from apps.clusters.models import ConfigDraft, Rollout
from tests.clusters.callers_at_doors import browser, member
from tests.clusters.rollout_scene import NEW_WEIGHTS, SECRET, Scene, conf_text, scene

pytestmark = pytest.mark.django_db

DRAFT = "/o/acme/clusters/orders/draft/"


@pytest.fixture
def acme(db: None, tmp_path: Path, settings: Any) -> Iterator[Scene]:
    with scene(tmp_path, settings, pgpools=2) as found:
        found.cluster.instances.update(version="4.3.5")
        yield found


@pytest.fixture
def operator(acme: Scene) -> Client:
    return browser("operator")


def add(client: Client, name: str, value: str, **more: str) -> int:
    return client.post(f"{DRAFT}parameter/", {"name": name, "value": value, **more}).status_code


def test_parameters_and_weights_are_gathered_reviewed_and_rolled_out(acme: Scene, operator: Client) -> None:
    assert add(operator, "delay_threshold", "5000") == 303
    assert add(operator, "num_init_children", "64", instance="pgpool-2") == 303
    assert add(operator, "client_idle_limit", "", is_default="on") == 303
    weights = {"weight_0": "0", "weight_1": "25", "weight_2": "75"}
    none = operator.post(f"{DRAFT}weights/", dict.fromkeys(weights, "0"), follow=True)
    assert "The weights: all are 0, but at least one backend needs more." in none.content.decode()
    assert operator.post(f"{DRAFT}weights/", weights).status_code == 303

    page = operator.get(DRAFT).content.decode()
    assert "Your draft: 4 changes, not rolled out" in page
    assert "delay_threshold = 5000" in page
    assert "it waits for a restart of every pgpool" in page
    assert "4 changes not rolled out" in operator.get("/o/acme/clusters/orders/weights/").content.decode()
    assert acme.texts() == [conf_text()] * 2

    answer = operator.post(f"{DRAFT}roll-out/", {"note": "together"})

    rollout = Rollout.objects.get()
    assert (answer.status_code, answer["Location"]) == (303, f"/o/acme/rollouts/{rollout.pk}/")
    assert rollout.revision.note == "together"
    assert rollout.revision.weights["pgpool-1"] == {"0": 0, "1": 25, "2": 75}
    assert rollout.revision.parameter_names == ["client_idle_limit", "delay_threshold", "num_init_children"]
    assert not ConfigDraft.objects.exists()


def test_findings_stand_beside_their_parameter_and_forbid_the_rollout(acme: Scene, operator: Client) -> None:
    add(operator, "delay_threshold", "-3")
    add(operator, "sr_check_password", "another-very-secret")

    page = operator.get(DRAFT).content.decode()

    assert "out of range" in page
    assert "another-very-secret" not in page
    assert SECRET not in page
    refused = operator.post(f"{DRAFT}roll-out/")
    assert refused.status_code == 422
    assert "Nothing was changed" in refused.content.decode()
    assert ConfigDraft.objects.get().count == 2
    assert not Rollout.objects.exists()


def test_changes_are_let_go_one_by_one_or_all_at_once(acme: Scene, operator: Client) -> None:
    add(operator, "max_pool", "8")
    add(operator, "max_pool", "9", instance="pgpool-1")
    add(operator, "delay_threshold", "5")

    operator.post(f"{DRAFT}drop/", {"name": "max_pool", "instance": "pgpool-1"})
    operator.post(f"{DRAFT}drop/", {"name": "weights"})
    assert ConfigDraft.objects.get().count == 2
    operator.post(f"{DRAFT}discard/")
    assert not ConfigDraft.objects.exists()
    assert "Your draft is empty" in operator.get(DRAFT).content.decode()
    assert operator.post(f"{DRAFT}roll-out/").status_code == 422


def test_a_draft_says_that_the_configuration_changed_since(acme: Scene, operator: Client) -> None:
    add(operator, "max_pool", "8")
    Rollout.objects.filter(pk=acme.request(NEW_WEIGHTS).pk).update(state="cancelled")

    assert "is newer than the one this draft was begun on" in operator.get(DRAFT).content.decode()

    acme.confs[1].write_text(acme.confs[1].read_text() + "log_statement = on\n")
    page = operator.get(DRAFT).content.decode()
    assert "The configuration was changed elsewhere" in page
    assert operator.post(f"{DRAFT}roll-out/").status_code == 409
    assert operator.post(f"{DRAFT}roll-out/", {"base": "live"}).status_code == 303


def test_a_draft_is_its_authors_own(acme: Scene, operator: Client) -> None:
    add(operator, "max_pool", "8")
    other = Client()
    other.force_login(member("admin").user)

    assert "Your draft is empty" in other.get(DRAFT).content.decode()
    assert browser("viewer").get(DRAFT).status_code == 403


@pytest.mark.parametrize(("name", "value"), [("", "1"), ("x" * 101, "1"), ("max_pool", "9" * 9000), ("a\0b", "1")])
def test_odd_input_is_told_beside_its_field(acme: Scene, operator: Client, name: str, value: str) -> None:
    assert add(operator, name, value) == 422
    assert not ConfigDraft.objects.exists()


@pytest.mark.parametrize(
    ("name", "value", "comes_back"),
    [
        ("sr_check_password", "another-very-secret", False),
        ("wd_authkey", "another-very-secret", False),
        ("delay_threshold", "another-very-plain", True),
    ],
)
def test_a_refused_form_forgets_what_is_secret(
    acme: Scene, operator: Client, name: str, value: str, comes_back: bool
) -> None:
    refused = operator.post(f"{DRAFT}parameter/", {"name": name, "value": value, "instance": "pgpool-9"})

    page = refused.content.decode()
    assert refused.status_code == 422
    assert f'value="{name}"' in page
    assert (value in page) == comes_back


def test_the_configuration_page_leads_to_the_draft(acme: Scene, operator: Client) -> None:
    add(operator, "max_pool", "8")

    page = operator.get("/o/acme/clusters/orders/configuration/").content.decode()

    assert f'href="{DRAFT}?name=delay_threshold#add"' in page
    assert "1 change not rolled out" in page
    assert f"{DRAFT}?name=port#add" not in page


def test_no_file_is_said_to_stay_while_errors_keep_it_from_being_made(acme: Scene, operator: Client) -> None:
    add(operator, "delay_threshold", "5000")
    assert "Roll out 1 change" in operator.get(DRAFT).content.decode()
    add(operator, "delay_treshold", "5000")

    page = operator.get(DRAFT).content.decode()

    assert "Nothing can be rolled out before the errors are mended." in page
    assert "No line changes." not in page
