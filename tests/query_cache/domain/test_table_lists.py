"""Tables that a cache leaves out: what each version calls the list, what matches, what names a table."""

import pytest

from apps.query_cache.domain.table_lists import list_name, names_both_ways, with_tables


@pytest.mark.parametrize(
    ("version", "name"),
    [
        ("4.1.2", "black_memqcache_table_list"), ("3.7.5", "black_memqcache_table_list"),
        ("4.2.0", "cache_unsafe_memqcache_table_list"), ("4.7.1", "cache_unsafe_memqcache_table_list"),
        ("", "cache_unsafe_memqcache_table_list"),
    ],
)  # fmt: skip
def test_the_list_is_called_as_the_version_calls_it(version: str, name: str) -> None:
    assert list_name(version) == name


@pytest.mark.parametrize(
    ("listed", "is_named"),
    [
        (["orders", "public.orders"], True),
        (["orders"], False),  # a statement may name the schema
        (["public.orders"], False),
        ([".*orders"], True),
        (["ORDERS", "PUBLIC[.]ORDERS"], True),  # pgpool looks at no case
        (["order"], False),
        (["[[:alpha:]]+", r"public[.][[:alpha:]]+"], True),
        (["(orders", ".*"], True),  # an item that is no expression matches nothing
        (["[[=o=]]rders", "public.orders"], False),
        ([], False),
    ],
)
def test_a_table_is_left_out_where_both_its_names_match(listed: list[str], is_named: bool) -> None:
    assert names_both_ways(listed, "public", "orders") is is_named


def test_a_table_goes_behind_what_stands_there_by_both_names_once() -> None:
    assert with_tables("", [("public", "orders")]) == "orders,public[.]orders"
    assert with_tables("audit, orders", [("public", "orders")]) == "audit,orders,public[.]orders"
    assert with_tables("orders,public[.]orders", [("public", "orders")]) == "orders,public[.]orders"
    assert with_tables("a", [("s", "x$1"), ("s", "y-z")]) == "a,x[$]1,s[.]x[$]1,y-z,s[.]y-z"


@pytest.mark.parametrize("name", ["a,b", "two words", "ünlaut", "x.y"])
def test_a_table_that_no_item_can_name(name: str) -> None:
    assert with_tables("", [("public", name)]) is None
    assert with_tables("", [(name, "orders")]) is None
