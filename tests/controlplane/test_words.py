"""What a page makes of the words of stories."""

import pytest

from controlplane.templatetags.words import closed, headline


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("rollout of revision 3 requested by Ana", "Rollout of revision 3 requested by Ana"),
        ("revision 2 verified on pgpool-1", "Revision 2 verified on pgpool-1"),
        ("pgpool-3 returned and was given revision 6", "pgpool-3 returned and was given revision 6"),
        ("rollouts-db is back", "rollouts-db is back"),
        ("", ""),
    ],
)
def test_a_headline_begins_with_a_capital_but_for_names(title: str, shown: str) -> None:
    assert headline(title) == shown


@pytest.mark.parametrize(
    ("said", "shown"), [("no such name", "no such name."), ("see Settings.", "see Settings."), ("why?", "why?")]
)
def test_a_sentence_ends_once(said: str, shown: str) -> None:
    assert closed(said) == shown
