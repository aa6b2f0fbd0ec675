"""One list for all databases: as soon as one needs it, what writes in the others is named, too."""

import pytest

from apps.clusters.domain.function_lists_of_all import ReadDatabase, Writer, propose_for_all, unread, warning

SHOP = ReadDatabase("shop", "logs,nextval,public[.]logs", ('public."Odd"()',), ())
RIGHT = ReadDatabase("crm", None, (), (Writer("sales", "book", "sales.book(int)"), Writer("public", "Ä", "public.Ä()")))


def test_nothing_is_proposed_where_every_catalog_is_right() -> None:
    assert propose_for_all([RIGHT, ReadDatabase("stock", None, (), ())]).write_function_list is None
    assert propose_for_all([]).write_function_list is None


def test_a_database_that_needs_the_list_brings_in_what_writes_in_the_others() -> None:
    found = propose_for_all([RIGHT, SHOP])

    assert found.write_function_list == "book,logs,nextval,public[.]logs,sales[.]book"
    assert found.unlisted == ('public."Odd"() of shop', "public.Ä() of crm")
    assert propose_for_all([SHOP]).unlisted == ('public."Odd"()',)


@pytest.mark.parametrize(
    ("missing", "begins"),
    [
        (["crm"], "crm was not read: have it surveyed first."),
        (["a", "b", "c"], "a, b and c were not read: have them surveyed first."),
        ([f"d{number:02}" for number in range(12)], "d00, d01, d02, d03, d04, d05, d06, d07, d08, d09 and 2 more were"),
        (None, "Which databases there are besides shop is not known"),
        ([], ""),
    ],
)
def test_databases_that_were_not_read_are_named(missing: list[str] | None, begins: str) -> None:
    told = warning(missing, ["shop"])

    assert told.startswith(begins)
    assert bool(told) == ("sent to standbys" in told)


def test_what_exists_and_was_not_read_is_unread() -> None:
    assert unread(["shop", "crm", "ads"], ["shop", "dropped"]) == ["ads", "crm"]
