"""What can be typed as a host, and what would be right instead."""

import pytest

from apps.clusters.domain.hosts import host_problem


@pytest.mark.parametrize(
    "host", ["bouncer-1", "bouncer_1.internal", "db.example.", "10.0.0.5", "::1", "2001:db8::5", "::ffff:10.0.0.5"]
)
def test_one_name_or_address_is_a_host(host: str) -> None:
    assert host_problem(host) == ""


@pytest.mark.parametrize(
    ("host", "words"),
    [
        ("10.0.0.5:6432", "give the port in its own field"),
        ("bouncer-1:6432", "give the port in its own field"),
        (":::::", "is no address of IPv6"),
        ("fe80::1%eth0", "one name or address"),
        ("[::1]", "leave out the brackets"),
        ("[::1]:6432", "leave out the brackets, and give the port in its own field"),
        (".", "one name or address"),
        ("..", "one name or address"),
        ("a..b", "one name or address"),
        (".a", "one name or address"),
        ("x" * 64, "one name or address"),
        ("-h", "one name or address"),
        ("a,b", "one name or address"),
        ("/tmp", "one name or address"),
        ("", "one name or address"),
        ("a\n", "one name or address"),
    ],
)
def test_what_is_no_host_says_what_would_be_one(host: str, words: str) -> None:
    assert words in host_problem(host)
