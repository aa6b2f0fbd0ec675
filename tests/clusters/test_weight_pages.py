"""The pages of weights and rollouts: one request per permission and per outcome."""

from datetime import timedelta
from html import unescape

import pytest
from django.http import HttpResponse
from django.utils import timezone

from apps.clusters.models import ConfigRevision, InstanceLatest, PgpoolInstance, Rollout
from tests.clusters.callers_at_doors import browser
from tests.clusters.rollout_scene import NOW, SECRET, Scene
from tests.clusters.seen_cluster import poll
from tests.clusters.test_registration_pages import text_of

pytestmark = pytest.mark.django_db

PAGE = "/o/acme/clusters/orders/weights/"
QUARTERS = {"weight_0": "0", "weight_1": "25", "weight_2": "75"}


def leads_to(answer: HttpResponse, rollout: Rollout) -> bool:
    return (answer.status_code, answer.headers.get("Location")) == (303, f"/o/acme/rollouts/{rollout.pk}/")


def test_a_viewer_sees_the_weights_and_why_they_cannot_be_changed(pair: Scene) -> None:
    answer = browser("viewer").get(PAGE)

    assert answer.status_code == 200
    text = text_of(answer)
    refusal = "You have viewer access to Orders; changing weights needs the role operator."
    assert text.count(refusal) == 2  # among what is checked, and by the button
    assert "Nothing stands against it" not in text


@pytest.mark.parametrize("path", ["", "preview/"])
def test_a_viewer_can_neither_preview_nor_start(pair: Scene, path: str) -> None:
    assert browser("viewer").post(PAGE + path, QUARTERS).status_code == 403

    assert not Rollout.objects.exists()


def test_a_cluster_of_another_organisation_is_not_there(pair: Scene) -> None:
    stranger = browser("admin", "rival")
    rollout = pair.request()

    assert stranger.get("/o/rival/clusters/orders/weights/").status_code == 404
    assert stranger.post(PAGE, QUARTERS).status_code == 404
    assert stranger.post(f"/o/rival/rollouts/{rollout.pk}/cancel/").status_code == 404
    rollout.refresh_from_db()
    assert not rollout.is_cancel_requested


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_a_page_that_was_opened_before_any_weights_were_seen_goes_on_by_itself(pair: Scene, role: str) -> None:
    visitor, again = browser(role), f'hx-get="{PAGE}now/?weight_1=1&amp;weight_0=0&amp;weight_2=3"'
    opened = visitor.get(f"{PAGE}?weight_1=1&weight_0=0&weight_2=3").content.decode()
    assert again in opened
    assert "No pgpool has shown its weights yet." in opened
    assert visitor.get(f"{PAGE}now/").status_code == 204
    assert PAGE + "now/" not in browser("admin").post(PAGE, QUARTERS | {"weight_1": "-1"}).content.decode()

    poll(pair.cluster)

    shown = visitor.get(f"{PAGE}now/?weight_1=1&weight_0=0&weight_2=3")
    assert shown.status_code == 200
    assert '<div class="stack" id="weights-editor">' in shown.content.decode()
    assert "<html" not in shown.content.decode()
    assert 'name="weight_2" min="0" max="100" step="any" value="75"' in shown.content.decode()
    assert ('<button class="btn pri" type="submit">Start rollout' in shown.content.decode()) == (role == "operator")
    assert PAGE + "now/" not in visitor.get(PAGE).content.decode()


def test_the_preview_shows_the_lines_of_every_file_and_no_password(pair: Scene) -> None:
    answer = browser("operator").post(PAGE + "preview/", QUARTERS)

    text = text_of(answer)
    assert answer.status_code == 200
    assert "2 of 2 pgpool.conf files change" in text
    assert "backend_weight2 = 75" in text
    assert SECRET not in answer.content.decode()
    assert not ConfigRevision.objects.exists()


def test_percents_start_a_rollout_of_the_smallest_integers(pair: Scene) -> None:
    answer = browser("operator").post(PAGE, {**QUARTERS, "note": "pg3 has the bigger cache"})

    rollout = Rollout.objects.get()
    assert leads_to(answer, rollout)
    assert rollout.revision.weights["pgpool-1"] == {"0": 0, "1": 25, "2": 75}
    assert (rollout.revision.note, rollout.requested_by_name) == ("pg3 has the bigger cache", "Operator")


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({"weight_2": "-1"}, "pg3: -1.0 is not a number between 0 and 100000000."),
        ({"weight_2": "many"}, "pg3: 'many' is not a number between 0 and 100000000."),
        ({"weight_1": "0", "weight_2": "0"}, "The weights: all are 0, but at least one backend needs more."),
        ({"weight_7": "1"}, "is not one of the backends 0, 1, 2."),
    ],
)
def test_weights_that_make_no_sense_come_back_with_the_reason(pair: Scene, typed: dict[str, str], said: str) -> None:
    answer = browser("operator").post(PAGE, QUARTERS | typed)

    assert answer.status_code == 422
    assert said in unescape(text_of(answer))
    assert not Rollout.objects.exists()


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({"note": "a" * 501}, "is not a text of at most 500 characters."),
        ({"base": "newest"}, """The base: 'newest' is not one of "known" and "live"."""),
    ],
)
def test_a_note_too_long_and_an_unknown_base_are_refused_as_by_rest(
    pair: Scene, typed: dict[str, str], said: str
) -> None:
    answer = browser("operator").post(PAGE, QUARTERS | typed)

    assert answer.status_code == 422
    assert said in unescape(text_of(answer))
    assert not Rollout.objects.exists()


def test_a_file_edited_by_hand_is_shown_and_taken_on_request(pair: Scene) -> None:
    pair.edit_by_hand()
    operator = browser("operator")

    refused = operator.post(PAGE, QUARTERS)
    taken = operator.post(PAGE, {**QUARTERS, "base": "live"})

    assert refused.status_code == 409
    assert "delay_threshold" in text_of(refused)
    assert leads_to(taken, Rollout.objects.latest("pk"))


def test_an_observed_pgpool_is_never_written(pair: Scene) -> None:
    PgpoolInstance.objects.filter(name="pgpool-2").update(
        delivery_kind="observe", delivery_path="", delivery_target=None
    )

    answer = browser("operator").post(PAGE, QUARTERS)

    assert answer.status_code == 422
    assert "pgpool-2: registered as observe only" in text_of(answer)


def test_a_cluster_that_is_only_observed_is_not_offered_a_change(pair: Scene) -> None:
    operator = browser("operator")
    offered = text_of(operator.get("/o/acme/clusters/orders/"))
    PgpoolInstance.objects.filter(name="pgpool-2").update(
        delivery_kind="observe", delivery_path="", delivery_target=None
    )

    overview = text_of(operator.get("/o/acme/clusters/orders/"))
    page = text_of(operator.get(PAGE))

    assert "Change weights" in offered
    assert "Change weights" not in overview
    assert "See the weights" in overview
    assert page.count("pgpool-2: observe only.") == 2  # among what is checked, and by the button
    for contradiction in ("Nothing stands against it", "Reading the live files", "Reversible"):
        assert contradiction not in page


def test_a_change_that_nothing_blocks_says_so(pair: Scene) -> None:
    now = timezone.now()
    poll(pair.cluster, seen_at=now + timedelta(hours=1), since=now)

    page = text_of(browser("operator").get(PAGE))

    assert "Nothing stands against it" in page
    assert "Reading the live files" in page
    assert "Reload only, no restart, no dropped sessions. Reversible." in page


@pytest.mark.parametrize(("state", "said"), [("unreachable", "does not answer"), ("hanging", "hangs")])
def test_a_pgpool_that_does_not_answer_is_named_before_anything_is_rolled_out(
    pair: Scene, state: str, said: str
) -> None:
    now = timezone.now()
    poll(pair.cluster, seen_at=now + timedelta(hours=1), since=now)
    InstanceLatest.objects.filter(instance__name="pgpool-2").update(
        state=state, reason="connection refused.", state_since=NOW
    )
    operator = browser("operator")
    operator.post("/o/acme/clusters/orders/draft/parameter/", {"name": "delay_threshold", "value": "5000"})
    sentence = f"pgpool-2 {said} since 2026-03-01 12:00 UTC: connection refused."

    pages = [text_of(operator.get(path)) for path in (PAGE, f"{PAGE}each/", "/o/acme/clusters/orders/draft/")]
    reversion = text_of(operator.get("/o/acme/clusters/orders/drift/revert/"))

    for page in pages:
        assert f"{sentence} Nothing is rolled out without it, unless the plan says under “A pgpool that " in page
        assert page.count(sentence) == 1
    assert "Nothing stands against it" not in pages[0]
    assert "Nothing is rolled out without it, unless" not in reversion


def test_a_way_back_says_what_becomes_of_a_pgpool_that_does_not_answer(pair: Scene) -> None:
    rollout = pair.advance(pair.request())
    now = timezone.now()
    poll(pair.cluster, seen_at=now, since=now)
    InstanceLatest.objects.filter(instance__name="pgpool-2").update(state="unreachable", state_since=NOW)

    page = text_of(browser("operator").get(f"/o/acme/rollouts/{rollout.pk}/rollback/"))

    assert "pgpool-2 does not answer since 2026-03-01 12:00 UTC. It fails there, and the others go on, unless" in page


def test_a_second_start_leads_to_the_rollout_that_is_running(pair: Scene) -> None:
    running = pair.request()

    answer = browser("operator").post(PAGE, QUARTERS)

    assert leads_to(answer, running)
    assert Rollout.objects.count() == 1


def test_bad_weights_are_told_while_a_rollout_is_running_too(pair: Scene) -> None:
    pair.request()

    answer = browser("operator").post(PAGE, QUARTERS | {"weight_1": "0", "weight_2": "0"})

    assert answer.status_code == 422
    assert "The weights: all are 0, but at least one backend needs more." in unescape(text_of(answer))


def test_a_rollout_is_shown_with_its_steps_and_its_way_back(pair: Scene) -> None:
    rollout = pair.request(note="more for pg3")
    viewer = browser("viewer")

    for path in (f"rollouts/{rollout.pk}/", f"rollouts/{rollout.pk}/now/", "rollouts/", "clusters/orders/history/"):
        answer = viewer.get(f"/o/acme/{path}")
        assert answer.status_code == 200
        assert SECRET not in answer.content.decode()
    assert "Nothing is written yet" in text_of(viewer.get(f"/o/acme/rollouts/{rollout.pk}/"))


@pytest.mark.parametrize("action", ["cancel", "rollback"])
def test_a_viewer_can_take_nothing_back(pair: Scene, action: str) -> None:
    rollout = pair.request()

    assert browser("viewer").post(f"/o/acme/rollouts/{rollout.pk}/{action}/").status_code == 403


def test_an_operator_cancels_and_is_told_when_there_is_nothing_to_roll_back(pair: Scene) -> None:
    rollout = pair.request()
    operator = browser("operator")
    address = f"/o/acme/rollouts/{rollout.pk}/"

    assert leads_to(operator.post(address + "cancel/"), rollout)
    told = operator.post(address + "rollback/", follow=True)

    rollout.refresh_from_db()
    assert rollout.is_cancel_requested
    assert "is still running" in text_of(told)


def test_a_pgpool_that_turns_lifeguard_away_is_named_and_nobody_is_told_that_it_may_owe(pair: Scene) -> None:
    rollout = pair.advance(pair.request())
    now = timezone.now()
    poll(pair.cluster, seen_at=now + timedelta(hours=1), since=now)
    InstanceLatest.objects.filter(instance__name="pgpool-2").update(
        state="refused", reason="the password was not accepted", state_since=NOW
    )
    operator = browser("operator")
    operator.post("/o/acme/clusters/orders/draft/parameter/", {"name": "delay_threshold", "value": "5000"})
    sentence = (
        "pgpool-2 lets Lifeguard open no session since 2026-03-01 12:00 UTC: the password was not accepted. "
        "It is there, so it cannot owe"
    )

    changes = [text_of(operator.get(path)) for path in (PAGE, f"{PAGE}each/", "/o/acme/clusters/orders/draft/")]
    back = text_of(operator.get(f"/o/acme/rollouts/{rollout.pk}/rollback/"))

    for page in changes:
        assert f"{sentence} the change: nothing is rolled out before that is mended." in page
    assert f"{sentence} it: nothing can be read back from it, so it fails there, and the others go on." in back
    for page in [*changes, back]:
        assert "unless the plan says under" not in page
