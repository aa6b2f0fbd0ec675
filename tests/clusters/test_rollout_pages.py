"""The page of a rollout: what it changed, in whose words, and only where it wrote."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from apps.clusters.control import rollout_actions
from apps.clusters.control.parameter_change import Wish, request_change
from apps.clusters.models import Rollout
from tests.clusters.callers_at_doors import browser
from tests.clusters.rollout_scene import NOW, Scene, scene
from tests.clusters.test_registration_pages import text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def acme(db: None, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    monkeypatch.setattr(rollout_actions, "READ_BACK_PATIENCE_S", 0.05)
    with scene(tmp_path, settings) as found:
        yield found


@pytest.fixture
def viewer(acme: Scene) -> Client:
    return browser("viewer")


def told_of(rollout: Rollout, viewer: Client) -> str:
    return text_of(viewer.get(f"/o/acme/rollouts/{rollout.pk}/"))


def test_only_what_was_written_counts_as_written(acme: Scene, viewer: Client) -> None:
    acme.pgpools[1].mode = "forget"
    rollout = acme.advance(acme.request())
    assert acme.states(rollout) == ["restored", "restored", "skipped"]

    told = told_of(rollout, viewer).partition("What it wrote to pgpool.conf")[2]

    assert "Nothing was written on pgpool-3." in told
    assert [f"{name} 1 line" in told for name in ("pgpool-1", "pgpool-2", "pgpool-3")] == [True, True, False]


def test_a_rollout_that_wrote_nothing_says_what_it_would_have(acme: Scene, viewer: Client) -> None:
    acme.confs[2].write_text(acme.confs[2].read_text() + "# by hand\n")
    rollout = acme.request()
    acme.confs[2].write_text(acme.confs[2].read_text() + "# once more\n")
    acme.advance(rollout)
    assert acme.states(rollout) == ["skipped", "skipped", "failed"]

    assert "What it would have written to pgpool.conf" in told_of(rollout, viewer)


def test_parameters_are_named_and_nobody_asks_for_weights_that_stay(acme: Scene, viewer: Client) -> None:
    wish = Wish({"delay_threshold": "2000"})
    told = told_of(request_change(caller=acme.caller, cluster=acme.cluster, wish=wish, now=NOW), viewer)
    assert "delay_threshold ; pg1 0 %, pg2 50 %, pg3 50 %, as before , started by" in told
    assert "Reads per backend meanwhile" in told
    Rollout.objects.update(state="verified")

    assert "Do reads follow the new weights?" in told_of(acme.request(), viewer)
