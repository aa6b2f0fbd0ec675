"""Weights that differ from pgpool to pgpool on purpose, from the page."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apps.clusters.control import drafts
from apps.clusters.domain.weights import parse_weight_texts
from apps.clusters.models import ConfigDraft, Rollout
from apps.clusters.queries.editing_each import text_of
from tests.clusters.callers_at_doors import browser
from tests.clusters.rollout_scene import Scene, scene
from tests.clusters.seen_cluster import poll

pytestmark = pytest.mark.django_db
PAGE = "/o/acme/clusters/orders/weights/each/"
ALL_ZERO = "all are 0, but at least one backend needs more"


@pytest.fixture
def pair(db: None, tmp_path: Path, settings: Any) -> Iterator[Scene]:
    with scene(tmp_path, settings, pgpools=2) as found:
        for number, instance in enumerate(found.instances):
            instance.az = "ab"[number]
            instance.save()
        for backend in found.cluster.backends.all():
            backend.az = "aab"[backend.node_id]
            backend.save()
        poll(found.cluster)
        yield found


def fields(scene: Scene, *columns: tuple[str, ...]) -> dict[str, str]:
    return {
        f"weight_{instance.pk}_{node_id}": text
        for instance, column in zip(scene.instances, columns, strict=True)
        for node_id, text in enumerate(column)
    }


def drafted_of_each() -> dict[str, dict[str, float]]:
    """Pgpool name -> node_id -> weight, of the only draft."""
    found: dict[str, dict[str, float]] = json.loads(ConfigDraft.objects.get().wishes)["weights_per_instance"]
    return found


def test_each_pgpool_gets_its_own_weights(pair: Scene) -> None:
    operator = browser("operator")

    proposed = operator.get(f"{PAGE}?propose=own-az").content.decode()
    for name, text in fields(pair, ("0", "9", "1"), ("0", "1", "9")).items():
        assert f'name="{name}" min="0" step="any" value="{text}"' in proposed
    answer = operator.post(PAGE, fields(pair, ("0", "9", "1"), ("0", "1", "9")))

    rollout = Rollout.objects.get()
    assert answer["Location"] == f"/o/acme/rollouts/{rollout.pk}/"
    assert rollout.revision.weights == {
        "pgpool-1": {"0": 0, "1": 9, "2": 1}, "pgpool-2": {"0": 0, "1": 1, "2": 9}
    }  # fmt: skip


def test_a_file_that_was_edited_by_hand_is_told_and_can_be_gone_on_from(pair: Scene) -> None:
    pair.edit_by_hand()
    operator, wanted = browser("operator"), fields(pair, ("0", "9", "1"), ("0", "1", "9"))

    told = operator.post(PAGE, wanted)
    assert told.status_code == 409
    assert "pgpool-2: delay_threshold 1000 → 5" in told.content.decode()
    assert '<input type="hidden" name="base" value="live">' in told.content.decode()
    assert 'step="any" value="9"' in told.content.decode()
    odd = operator.post(PAGE, {**wanted, "base": "mine"})
    assert (odd.status_code, "The base" in odd.content.decode()) == (422, True)
    assert operator.post(PAGE, {**wanted, "base": "live"}).status_code == 303

    revision = Rollout.objects.latest("pk").revision
    assert revision.weights["pgpool-2"] == {"0": 0, "1": 1, "2": 9}
    assert "delay_threshold = 5" in revision.files.get(instance_name="pgpool-2").text


def test_weights_of_each_are_drafted_shown_and_rolled_out_with_a_parameter(pair: Scene) -> None:
    operator, draft = browser("operator"), "/o/acme/clusters/orders/draft/"
    operator.post(f"{draft}weights/", {"weight_0": "0", "weight_1": "50", "weight_2": "50"})

    added = operator.post(f"{draft}weights-each/", fields(pair, ("0", "9", "1"), ("0", "1", "9")))
    assert (added.status_code, added["Location"]) == (303, draft)
    assert operator.post(f"{draft}parameter/", {"name": "max_pool", "value": "8"}).status_code == 303
    page = operator.get(draft).content.decode()
    assert "Your draft: 3 changes, not rolled out" in page
    for name, text in (("pgpool-1", "pg1 0 %, pg2 90 %, pg3 10 %"), ("pgpool-2", "pg1 0 %, pg2 10 %, pg3 90 %")):
        assert f'id="parameter-weights-{name}"' in page
        assert text in page
    assert "3 changes not rolled out" in operator.get(PAGE).content.decode()
    assert not Rollout.objects.exists()

    assert operator.post(f"{draft}roll-out/").status_code == 303
    revision = Rollout.objects.get().revision
    assert revision.weights == {"pgpool-1": {"0": 0, "1": 9, "2": 1}, "pgpool-2": {"0": 0, "1": 1, "2": 9}}
    assert revision.parameter_names == ["max_pool"]


def test_drafted_weights_of_one_pgpool_are_undone_alone_and_go_with_weights_for_all(pair: Scene) -> None:
    operator, draft = browser("operator"), "/o/acme/clusters/orders/draft/"
    operator.post(f"{draft}weights-each/", fields(pair, ("0", "9", "1"), ("0", "1", "9")))

    assert f'href="{PAGE}?propose=draft"' in operator.get(draft).content.decode()
    shown = operator.get(f"{PAGE}?propose=draft").content.decode()
    for name, text in fields(pair, ("0", "9", "1"), ("0", "1", "9")).items():
        assert f'name="{name}" min="0" step="any" value="{text}"' in shown

    operator.post(f"{draft}drop/", {"name": "weights", "instance": "pgpool-1"})
    page = operator.get(draft).content.decode()
    assert ('id="parameter-weights-pgpool-1"' in page, 'id="parameter-weights-pgpool-2"' in page) == (False, True)
    operator.post(f"{draft}weights/", {"weight_0": "0", "weight_1": "50", "weight_2": "50"})
    page = operator.get(draft).content.decode()
    assert ('id="parameter-weights"' in page, 'id="parameter-weights-pgpool-2"' in page) == (True, False)

    operator.post(f"{draft}weights-each/", fields(pair, ("0", "1", "1"), ("0", "1", "1")))
    page = operator.get(draft).content.decode()
    assert ("Your draft: 1 change," in page, 'id="parameter-weights"' in page) == (True, True)


def test_a_pgpool_that_was_not_drafted_stays_so_unless_its_weights_are_changed(pair: Scene) -> None:
    operator, draft = browser("operator"), "/o/acme/clusters/orders/draft/"
    operator.post(f"{draft}weights-each/", fields(pair, ("0", "9", "1"), ("0", "1", "9")))
    operator.post(f"{draft}drop/", {"name": "weights", "instance": "pgpool-2"})

    shown = operator.get(f"{PAGE}?propose=draft").content.decode()
    said = "As drafted; pgpool-2 as it is now, and left out of the draft unless changed here."
    assert (said in shown, "runs now. Weights" in shown) == (True, False)
    as_shown = dict(re.findall(r'name="((?:weight|kept)_\d+_\d+)"[^>]*? value="([^"]*)"', shown))
    kept = {name for name in as_shown if name.startswith("kept_")}
    assert kept == {f"kept_{pair.instances[1].pk}_{node_id}" for node_id in range(3)}

    other = f"weight_{pair.instances[0].pk}_1"
    assert operator.post(f"{draft}weights-each/?propose=draft", {**as_shown, other: "8"}).status_code == 303
    assert drafted_of_each() == {"pgpool-1": {"0": 0, "1": 8, "2": 1}}

    own = f"weight_{pair.instances[1].pk}_2"
    odd = operator.post(f"{draft}weights-each/?propose=draft", {**as_shown, own: "many"}).content.decode()
    assert (said in odd, all(f'name="{name}" value="{as_shown[name]}"' in odd for name in kept)) == (True, True)
    assert operator.post(f"{draft}weights-each/?propose=draft", {**as_shown, own: "7"}).status_code == 303
    drafted = drafted_of_each()
    assert (sorted(drafted), drafted["pgpool-2"]["2"]) == (["pgpool-1", "pgpool-2"], 7)


def test_without_drafted_weights_the_page_shows_what_runs_now(pair: Scene) -> None:
    shown = browser("operator").get(f"{PAGE}?propose=draft").content.decode()

    assert ("The weights that each pgpool runs now." in shown, "kept_" in shown) == (True, False)


def test_a_draft_that_is_full_says_so(pair: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drafts, "MOST_PARAMETERS", 1)
    operator, draft = browser("operator"), "/o/acme/clusters/orders/draft/"
    operator.post(f"{draft}parameter/", {"name": "max_pool", "value": "8"})

    each = operator.post(f"{draft}weights-each/", fields(pair, ("0", "9", "1"), ("0", "1", "9")))
    assert (each.status_code, "A draft holds at most 1 changes" in each.content.decode()) == (422, True)
    alike = operator.post(f"{draft}weights/", {"weight_0": "0", "weight_1": "1", "weight_2": "1"}, follow=True)
    assert (alike.status_code, "A draft holds at most 1 changes" in alike.content.decode()) == (200, True)
    assert drafted_of_each() == {}


@pytest.mark.parametrize(
    ("weight", "text"),
    [(0.0, "0"), (3, "3"), (0.25, "0.25"), (1_000_000.0, "1000000"), (1e8, "100000000"), (1e-5, "0.00001")],
)
def test_a_weight_stands_in_its_field_as_the_form_takes_it_back(weight: float, text: str) -> None:
    assert text_of(weight) == text
    assert parse_weight_texts({"0": text, "1": "1"}, [0, 1])[0] == weight


def test_odd_weights_are_not_drafted_and_the_form_starts_a_rollout_still(pair: Scene) -> None:
    operator, draft = browser("operator"), "/o/acme/clusters/orders/draft/"

    refused = operator.post(f"{draft}weights-each/", fields(pair, ("0", "9", "1"), ("0", "0", "0")))

    assert (refused.status_code, f"The weights of pgpool-2: {ALL_ZERO}." in refused.content.decode()) == (422, True)
    assert f'<form method="post" action="{PAGE}"' in refused.content.decode()
    assert not ConfigDraft.objects.exists()
    assert browser("viewer").post(f"{draft}weights-each/", {}).status_code == 403


def test_odd_weights_are_refused_with_pgpool_and_backend_named(pair: Scene) -> None:
    operator = browser("operator")

    for text in ("abc", "-1", "1e400", "nan", "9" * 5000, "", "\0"):
        answer = operator.post(PAGE, fields(pair, ("0", "9", "1"), ("0", "1", text)))
        assert (answer.status_code, "pg3 on pgpool-2" in answer.content.decode()) == (422, True), text
    zero = operator.post(PAGE, fields(pair, ("0", "9", "1"), ("0", "0", "0")))
    assert (zero.status_code, f"The weights of pgpool-2: {ALL_ZERO}." in zero.content.decode()) == (422, True)
    assert not Rollout.objects.exists()
