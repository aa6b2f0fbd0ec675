"""How often several sessions of a pgpool are asked for what differs: pgpool counts them like those of clients."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apps.clusters.outside import read_back
from apps.clusters.polling import shown_apart
from tests.clusters.drifting import Drifting, drifting_pair

pytestmark = pytest.mark.django_db


@pytest.fixture
def pair(db: None, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Drifting]:
    """Nobody is late, however busy the machine is: one that does not answer is asked again."""
    for module, name in (
        (shown_apart, "DEADLINE_S"),
        (read_back, "CONNECT_DEADLINE_S"),
        (read_back, "SHOW_DEADLINE_S"),
    ):
        monkeypatch.setattr(module, name, 30.0)
    with drifting_pair(tmp_path, settings, monkeypatch) as found:
        yield found


def asked(pair: Drifting) -> int:
    """How often pgpool-2 was asked for delay_threshold, on three sessions each time."""
    return pair.scene.pgpools[1].received.count("PGPOOL SHOW delay_threshold") // 3


def test_a_difference_that_stands_is_hardly_ever_asked_about(pair: Drifting) -> None:
    pair.look()
    pair.edit("delay_threshold = 1000", "delay_threshold = 5")

    found = []
    for _ in range(21):  # ten minutes
        assert pair.look()["differences"][0]["kind"] == "edited_live"
        found.append(asked(pair))

    assert found == [1] * 20 + [2]


def test_what_is_new_about_a_difference_is_asked_at_once(pair: Drifting) -> None:
    pair.look()
    pair.edit("delay_threshold = 1000", "delay_threshold = 5", reload=False)
    pair.look()
    pair.look()
    assert asked(pair) == 1

    pair.scene.pgpools[1].reload()
    assert pair.look()["differences"][0]["kind"] == "edited_live"
    assert asked(pair) == 2
    pair.edit("delay_threshold = 5", "delay_threshold = 6")
    pair.look()
    assert asked(pair) == 3
    pair.edit("# kept as it is", "# another file")
    pair.look()
    assert asked(pair) == 4


def test_children_that_go_on_disagreeing_are_told_so_and_asked_now_and_then(pair: Drifting) -> None:
    pair.look()
    pair.scene.pgpools[1].mode = "mixed"
    pair.edit("delay_threshold = 1000", "delay_threshold = 5")

    found = []
    for _ in range(7):  # three minutes
        [only] = pair.look()["differences"]
        assert only["kind"] == "mixed"
        assert set((only["running"] or "").split(" / ")) == {"1000", "5"}
        found.append(asked(pair))

    assert found == [1, 2, 3, 4, 4, 4, 5]
    assert pair.told() == ["Edited by hand on pgpool-2: delay_threshold 1000 → 5"]


def test_one_that_could_not_be_asked_is_asked_as_soon_as_it_answers(pair: Drifting) -> None:
    pair.look()
    pair.edit("delay_threshold = 1000", "delay_threshold = 5")
    pair.scene.pgpools[1].mode = "refuse"
    found = pair.look()
    assert "is_unanswered" not in found["differences"][0]
    assert asked(pair) == 0

    pair.scene.pgpools[1].mode = "ok"
    pair.look()
    pair.look()

    assert asked(pair) == 1
