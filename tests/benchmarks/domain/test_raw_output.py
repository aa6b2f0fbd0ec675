"""What programs print, as it is kept, and its latest lines."""

import pytest

from apps.benchmarks.domain.raw_output import LONGEST_LINE, MOST_CHARACTERS, MOST_LINES, LogTail, storable


@pytest.mark.parametrize(
    ("text", "password", "kept"),
    [
        ("a\0b", "", "a�b"),
        ("PGPASSWORD=correct horse failed", "correct horse", "PGPASSWORD=[password] failed"),
        ("correct\0horse", "correct�horse", "[password]"),
        # As short a one stands in words of a report.
        ("latency average = 2 ms", "average", "latency average = 2 ms"),
    ],
)
def test_what_is_kept_has_no_password_and_nothing_that_cannot_be_stored(text: str, password: str, kept: str) -> None:
    assert storable(text, password=password) == kept


def test_a_tail_has_the_latest_lines_and_steps() -> None:
    tail = LogTail(password="")
    tail.begin("makes its tables anew")
    tail.add("preparation", "creating tables...")
    tail.names_processes = True
    tail.add("pg2", "done")

    assert tail.text() == "— makes its tables anew\ncreating tables...\npg2: done"
    for number in range(MOST_LINES - 1):
        tail.add("pg2", str(number))
    assert tail.text().splitlines()[:2] == ["pg2: done", "pg2: 0"]


def test_a_tail_of_long_lines_is_cut_and_begins_with_a_whole_line() -> None:
    tail = LogTail(password="correct horse")
    tail.add("pg1", "correct horse" * 1000)
    [first] = tail.text().splitlines()
    for _ in range(MOST_LINES):
        tail.add("pg1", "x" * 300)

    assert (len(first), "correct" in first, first[-1]) == (LONGEST_LINE, False, "…")
    # 27 lines of 301 characters are 8127, one more would be 8428.
    assert tail.text() == "\n".join(["x" * 300] * 27)
    assert len(tail.text()) <= MOST_CHARACTERS


def test_a_tail_is_news_once() -> None:
    tail = LogTail(password="")
    assert tail.news() is None
    tail.add("pg1", "one")

    assert (tail.news(), tail.news()) == ("one", None)
    tail.add("pg1", "two")
    assert tail.news() == "one\ntwo"
