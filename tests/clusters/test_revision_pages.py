"""What a rollout or a revision changed is seen afterwards, by page and by REST, and no password with it."""

from html import unescape

import pytest
from django.http import HttpResponse

from apps.clusters.models import PgpoolInstance, RevisionFile, Rollout
from tests.clusters.callers_at_doors import browser, script
from tests.clusters.rollout_scene import SECRET, Scene
from tests.clusters.test_registration_pages import text_of

pytestmark = pytest.mark.django_db

REVISIONS = "/o/acme/clusters/orders/revisions/"
REST = "/api/v1/clusters/orders/revisions/"
OTHER_SECRET = "other-secret-of-theirs"


def holds_no_secret(*answers: HttpResponse) -> bool:
    return not any(secret in each.content.decode() for secret in (SECRET, OTHER_SECRET) for each in answers)


def change_the_secret(pair: Scene) -> None:
    """By hand in the file of pgpool-1, after a first rollout; then taken as it is, as revision 3."""
    Rollout.objects.filter(pk=pair.request().pk).update(state="cancelled")
    conf = pair.confs[0]
    conf.write_text(conf.read_text().replace(SECRET, OTHER_SECRET))
    pair.request(None, base="live")


def test_the_table_of_revisions_leads_to_each(pair: Scene) -> None:
    pair.request(note="more for pg3")
    viewer = browser("viewer")

    listed = viewer.get("/o/acme/clusters/orders/history/")
    page = viewer.get(f"{REVISIONS}2/")

    assert f'href="{REVISIONS}2/"' in listed.content.decode()
    assert "pg1 0 %, pg2 25 %, pg3 75 %" in text_of(page)
    for told in ("Revision 2, edited here", "more for pg3", "against revision 1", "By Ann", "rollout #"):
        assert told in text_of(page)
    assert '<div class="add"><span>12</span><span>+</span><span>backend_weight2 = 3' in page.content.decode()
    assert "# kept as it is" in text_of(page)
    assert holds_no_secret(listed, page)


def test_the_first_revision_is_compared_with_nothing(pair: Scene) -> None:
    pair.request()

    page = browser("viewer").get(f"{REVISIONS}1/")

    assert "no earlier revision holds this pgpool" in text_of(page)
    assert "0 lines" not in text_of(page)
    assert "No rollout carried it" in text_of(page)


def test_a_secret_that_changed_shows_that_it_did_and_nothing_more(pair: Scene) -> None:
    change_the_secret(pair)

    page = browser("viewer").get(f"{REVISIONS}3/")

    assert "sr_check_password = '*****'" in unescape(text_of(page))
    assert holds_no_secret(page)


def test_rest_tells_what_a_revision_changed_in_every_pgpool(pair: Scene) -> None:
    change_the_secret(pair)
    reader = script("viewer", scope="read")

    edited, found = reader.get(f"{REST}2/"), reader.get(f"{REST}3/")

    assert edited.json()["changes"] == [
        {"instance": name, "parameter": "backend_weight2", "before": "1", "after": "3"}
        for name in ("pgpool-1", "pgpool-2")
    ]
    assert [(file["instance"], file["compared_with"]) for file in edited.json()["files"]] == [
        ("pgpool-1", 1),
        ("pgpool-2", 1),
    ]
    assert {"instance": "pgpool-1", "parameter": "sr_check_password", "before": "*****", "after": "*****"} in (
        found.json()["changes"]
    )
    assert holds_no_secret(edited, found)


def test_a_pgpool_that_is_gone_keeps_its_history(pair: Scene) -> None:
    pair.request()
    RevisionFile.objects.filter(instance__name="pgpool-2").update(instance=None)

    found = script("viewer", scope="read").get(f"{REST}2/").json()

    assert [file["compared_with"] for file in found["files"]] == [1, 1]


@pytest.mark.parametrize("number", [3, 10**12])
def test_a_revision_that_is_not_there_is_not_found(pair: Scene, number: int) -> None:
    pair.request()

    assert browser("viewer").get(f"{REVISIONS}{number}/").status_code == 404
    assert script("operator", scope="read").get(f"{REST}{number}/").status_code == 404


def test_a_revision_of_another_organisation_is_not_there(pair: Scene) -> None:
    pair.request()

    assert browser("admin", "rival").get("/o/rival/clusters/orders/revisions/1/").status_code == 404
    assert script("operator", organisation="rival").get(f"{REST}1/").status_code == 404


def test_a_rollout_shows_what_it_wrote(pair: Scene) -> None:
    rollout = pair.request()

    page = browser("viewer").get(f"/o/acme/rollouts/{rollout.pk}/")

    assert "pg1 0 %, pg2 50 %, pg3 50 % → 0 %, 25 %, 75 %" in text_of(page)
    assert page.content.decode().count("<span>+</span><span>backend_weight2 = 3") == 2
    assert holds_no_secret(page)


def test_who_rolls_back_is_first_shown_what_it_writes(pair: Scene) -> None:
    done = pair.advance(pair.request())
    operator = browser("operator")

    page = operator.get(f"/o/acme/rollouts/{done.pk}/rollback/")

    assert "pg1 0 %, pg2 25 %, pg3 75 % → 0 %, 50 %, 50 %" in text_of(page)
    assert page.content.decode().count("<span>+</span><span>backend_weight2 = 1") == 2
    assert holds_no_secret(page)
    assert Rollout.objects.count() == 1
    assert browser("viewer").get(f"/o/acme/rollouts/{done.pk}/rollback/").status_code == 403


def test_what_cannot_be_rolled_back_has_no_button_for_it(pair: Scene) -> None:
    running = pair.request()

    page = browser("operator").get(f"/o/acme/rollouts/{running.pk}/rollback/")

    assert "It cannot be rolled back." in text_of(page)
    assert "<form" not in page.content.decode().partition("<main")[2].partition("</main>")[0]


def test_an_observed_pgpool_is_no_reason_to_hide_its_history(pair: Scene) -> None:
    pair.request()
    PgpoolInstance.objects.update(delivery_kind="observe", delivery_path="", delivery_target=None)

    assert browser("viewer").get(f"{REVISIONS}2/").status_code == 200
