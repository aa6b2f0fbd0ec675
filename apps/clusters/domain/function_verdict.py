"""What a reading of functions allows to say of how they are marked; without a reading, nothing is said."""

from collections.abc import Sequence
from enum import StrEnum


class Marks(StrEnum):
    NOT_READ = "not_read"
    NOTHING_TO_MARK = "nothing_to_mark"  # the database holds no functions of its own
    UNCLEAR = "unclear"  # some could not be read, and of the others none is marked wrong
    RIGHT = "right"
    WRONG = "wrong"


def marks(*, read: int, unreadable: int, is_list_proposed: bool) -> Marks:
    """Of one reading. read: functions that were looked at, unreadable ones among them."""
    if is_list_proposed:
        return Marks.WRONG
    if not read:
        return Marks.NOTHING_TO_MARK
    return Marks.UNCLEAR if unreadable else Marks.RIGHT


def trusted(databases: Sequence[str], *, is_list_proposed: bool) -> str:
    """What is said of functions that could not be read and are not VOLATILE; "" without any.

    databases: that of each function, so as many as there are functions.
    """
    if not databases:
        return ""
    where = sorted(set(databases))
    of = where[0] if len(where) == 1 else f"{len(where)} databases"
    it = "it" if len(databases) == 1 else "them"
    to_standbys = f"calls go to standbys{f', and the list leaves {it} out' if is_list_proposed else ''}"
    if len(databases) == 1:
        return (
            f"1 function of {of} that could not be read is trusted to its mark, STABLE or IMMUTABLE: {to_standbys}. If "
            "it writes after all, it fails there, and has to be marked VOLATILE."
        )
    return (
        f"{len(databases)} functions of {of} that could not be read are trusted to their marks, STABLE or IMMUTABLE: "
        f"{to_standbys}. One that writes after all fails there, and has to be marked VOLATILE."
    )


def sentence(verdict: Marks, database: str, *, read: int, unreadable: int) -> str:
    """The verdict in words; verdict is that of a reading."""
    if verdict == Marks.WRONG:
        return f"Some functions of {database} are not marked as what they do."
    if verdict == Marks.NOTHING_TO_MARK:
        return f"{database} holds no functions of its own, so none can be marked wrong there."
    if verdict == Marks.UNCLEAR and unreadable == read:
        return f"No function of {database} could be read, of {read}: nobody can say how they should be marked."
    if verdict == Marks.UNCLEAR:
        return (
            f"No function of {database} that could be read is marked wrong; {unreadable} of {read} could not be read."
        )
    return f"pgpool is right to go by the catalog: no function of {database} is marked wrong."
