"""`make demo-fault`: what it offers, and what it says to words that it does not know."""

from pathlib import Path

import pytest

from deploy.demo import faults
from deploy.lab import Lab


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path / "lab")


@pytest.mark.parametrize("kind", faults.KINDS)
def test_the_lab_can_do_all_that_is_offered(lab: Lab, kind: str) -> None:
    assert faults.action(lab, kind) == getattr(lab, kind.replace("-", "_"))


@pytest.mark.parametrize("words", [["freeze"], ["melt", "pg1"], ["freeze", "pg1", "now"]])
def test_words_it_does_not_know_break_nothing(lab: Lab, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert faults.break_something(lab, words) == 2

    assert "as in: freeze pgpool-2" in capsys.readouterr().err
