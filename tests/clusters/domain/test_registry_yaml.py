"""The registry as YAML: what is written is read again as it was, and nothing of YAML surprises."""

import pytest

from apps.clusters.domain.registry_yaml import DEEPEST, LARGEST_BYTES, RegistryUnreadable, dump, load

HEAD = "lifeguard_registry: 1\nclusters:\n"


@pytest.mark.parametrize(
    "text", ["0123", "1e5", "yes", "null", "true", "~", "", "2020-01-01", "12:30:00", "0x10", "*a", "Ünï"]
)
def test_a_text_stays_a_text(text: str) -> None:
    assert load(dump([{"password": text, "port": 9999, "pcp": None, "on": True}])) == [
        {"password": text, "port": 9999, "pcp": None, "on": True}
    ]


@pytest.mark.parametrize("text", ["0123", "1e5", "yes", "2020-01-01", "12:30", "0x10", "1_000", "9" * 5000])
def test_a_password_typed_without_quotes_is_what_was_typed(text: str) -> None:
    assert load(f"{HEAD}- password: {text}\n") == [{"password": text}]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "a list called clusters"),
        ("[1, 2]", "a list called clusters"),
        ("clusters: []", "lifeguard_registry must be 1"),
        ("lifeguard_registry: 2\nclusters: []", "lifeguard_registry must be 1"),
        ("lifeguard_registry: true\nclusters: []", "lifeguard_registry must be 1"),
        ("lifeguard_registry: 1\nclusters: []\ncluster: []", "'cluster' is not known here"),
        (f"{HEAD}- 7", r"clusters\.0: each cluster"),
        (f"{HEAD}- a: [", "line 3"),
        (f"{HEAD}- a: 1\n  a: 2", "line 4, column 3: 'a' stands there twice"),
        (f"{HEAD}- 1: 2", "a name must be a text"),
        (f"{HEAD}- a: &x {{b: c}}\n  d: *x", "line 3, column 6: anchors and aliases"),
        (f"{HEAD}- !!python/object:os.system {{}}", "tags are not taken"),
        (f"{HEAD}- {'[' * DEEPEST}", "nested deeper"),
        (f'{HEAD}- name: "a\\0b"', "a character that no text here may hold"),
        (f'{HEAD}- name: "\\ud800"', "a character that no text here may hold"),
        (f"{HEAD}- name: \0", "no YAML text"),
        (f"{HEAD}{'- {}' * 1}\n" + "- {}\n" * 500, "at most 500"),
        ("#" * (LARGEST_BYTES + 1), "larger than 1 MiB"),
    ],
)
def test_what_is_no_registry_is_told_with_its_place(text: str, said: str) -> None:
    with pytest.raises(RegistryUnreadable, match=said):
        load(text)


@pytest.mark.parametrize("text", ['clusters: ["\\U00110000"]', '"\\UFFFFFFFF"', f"%YAML 1.{'9' * 5000}\n---\n1"])
def test_characters_and_numbers_that_there_are_not_are_refused(text: str) -> None:
    with pytest.raises(RegistryUnreadable):
        load(text)
