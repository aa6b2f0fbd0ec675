"""What is said of how functions are marked: no more than was read."""

import pytest

from apps.clusters.domain.function_verdict import Marks, marks, sentence, trusted


@pytest.mark.parametrize(
    ("read", "unreadable", "is_list_proposed", "verdict", "said"),
    [
        (0, 0, False, Marks.NOTHING_TO_MARK, "shop holds no functions of its own, so none can be marked wrong there."),
        (5, 0, False, Marks.RIGHT, "pgpool is right to go by the catalog: no function of shop is marked wrong."),
        (
            5,
            2,
            False,
            Marks.UNCLEAR,
            "No function of shop that could be read is marked wrong; 2 of 5 could not be read.",
        ),
        (
            5,
            5,
            False,
            Marks.UNCLEAR,
            "No function of shop could be read, of 5: nobody can say how they should be marked.",
        ),
        (5, 2, True, Marks.WRONG, "Some functions of shop are not marked as what they do."),
    ],
)
def test_nothing_is_said_of_what_was_not_read(
    read: int, unreadable: int, is_list_proposed: bool, verdict: Marks, said: str
) -> None:
    assert marks(read=read, unreadable=unreadable, is_list_proposed=is_list_proposed) == verdict
    assert sentence(verdict, "shop", read=read, unreadable=unreadable) == said


def test_what_could_not_be_read_is_not_left_to_its_mark_without_a_word() -> None:
    assert trusted([], is_list_proposed=True) == ""
    assert trusted(["shop"], is_list_proposed=False) == (
        "1 function of shop that could not be read is trusted to its mark, STABLE or IMMUTABLE: calls go to standbys. "
        "If it writes after all, it fails there, and has to be marked VOLATILE."
    )
    assert trusted(["shop", "stock", "shop"], is_list_proposed=True) == (
        "3 functions of 2 databases that could not be read are trusted to their marks, STABLE or IMMUTABLE: calls go "
        "to standbys, and the list leaves them out. One that writes after all fails there, and has to be marked "
        "VOLATILE."
    )
