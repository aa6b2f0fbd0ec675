"""Settings come from the environment, and odd values are refused by name."""

from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from controlplane import environment
from controlplane.environment import DeliveryDirectory, SettingRefused

NAME = "LIFEGUARD_THING"
KEYS = [Fernet.generate_key().decode() for _ in range(2)]


@pytest.mark.parametrize("value", ["", "   "])
def test_a_required_setting_must_be_there(value):
    with pytest.raises(SettingRefused, match=r"LIFEGUARD_THING.*must be set"):
        environment.required({NAME: value}, NAME)


@pytest.mark.parametrize(("value", "expected"), [("0", False), ("1", True), ("", True)])
def test_a_switch_is_0_or_1(value, expected):
    assert environment.boolean({NAME: value}, NAME, default=True) is expected


@pytest.mark.parametrize("value", ["yes", "true", "2", "01"])
def test_another_word_for_a_switch_is_refused(value):
    with pytest.raises(SettingRefused, match="must be 0 or 1"):
        environment.boolean({NAME: value}, NAME, default=True)


@pytest.mark.parametrize("value", ["0", "65", "-1", "1.5", "four", "٤"])
def test_a_number_outside_its_range_is_refused(value):
    with pytest.raises(SettingRefused, match="whole number from 1 to 64"):
        environment.integer({NAME: value}, NAME, default=1, lowest=1, highest=64)


def test_a_number_inside_its_range_is_taken():
    assert environment.integer({NAME: " 64 "}, NAME, default=1, lowest=1, highest=64) == 64
    assert environment.integer({}, NAME, default=1, lowest=1, highest=64) == 1


def test_encryption_keys_keep_their_order():
    assert environment.encryption_keys({NAME: ", ".join(KEYS)}, NAME) == KEYS


def test_at_least_one_encryption_key_is_needed():
    with pytest.raises(SettingRefused, match="at least one Fernet key"):
        environment.encryption_keys({NAME: " , "}, NAME)


def test_a_bad_encryption_key_is_named_by_its_place_and_not_shown():
    with pytest.raises(SettingRefused, match="key 2 is not a Fernet key") as refused:
        environment.encryption_keys({NAME: f"{KEYS[0]},secret-but-short"}, NAME)

    assert "secret-but-short" not in str(refused.value)
    assert KEYS[0] not in str(refused.value)


def test_the_database_address_is_taken_apart():
    address = environment.database({NAME: "postgresql://lg:p%40ss@db.example:6543/life%20guard"}, NAME)

    assert (address.host, address.port, address.name) == ("db.example", 6543, "life guard")
    assert (address.username, address.password) == ("lg", "p@ss")


def test_the_database_port_may_be_left_out():
    assert environment.database({NAME: "postgresql://lg@db.example/lg"}, NAME).port == 5432


@pytest.mark.parametrize(
    "value",
    [
        "mysql://lg:secret@db/lg",
        "postgresql:///lg?secret",
        "postgresql://lg:secret@db",
        "postgresql://lg:secret@db/",
        "postgresql://lg:secret@db:99999/lg",
        "postgresql://lg:secret@db:port/lg",
    ],
)
def test_an_odd_database_address_is_refused_without_showing_it(value):
    with pytest.raises(SettingRefused, match=NAME) as refused:
        environment.database({NAME: value}, NAME)

    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("value", ["http://redis:6379/0", "redis.example:6379"])
def test_an_odd_redis_address_is_refused(value):
    with pytest.raises(SettingRefused, match="must begin with redis://"):
        environment.redis_url({NAME: value}, NAME)


@pytest.mark.parametrize("value", ["127.0.0.1:8000", "ftp://lg", "https://lg.example/path", "https://"])
def test_an_odd_public_address_is_refused(value):
    with pytest.raises(SettingRefused, match="without a path"):
        environment.web_origin({NAME: value}, NAME, default="http://127.0.0.1:8000")


def test_a_public_address_loses_its_slash():
    assert environment.web_origin({NAME: "https://lg.example/"}, NAME, default="x") == "https://lg.example"


def test_delivery_directories_may_belong_to_one_organisation():
    found = environment.delivery_directories({NAME: "/etc/pgpool:acme=/srv/acme"}, NAME)

    assert found == [DeliveryDirectory(None, Path("/etc/pgpool")), DeliveryDirectory("acme", Path("/srv/acme"))]


@pytest.mark.parametrize("value", ["etc/pgpool", "acme=etc", "=/etc/pgpool"])
def test_an_odd_delivery_directory_is_refused(value):
    with pytest.raises(SettingRefused, match="absolute directory"):
        environment.delivery_directories({NAME: value}, NAME)


def test_restart_commands_are_split_once_and_may_belong_to_one_organisation():
    text = "pgpool2=/usr/bin/sudo -n systemctl restart 'pgpool 2'; acme/lab=/opt/restart {path};"
    found = environment.restart_commands({NAME: text}, NAME)

    assert [(each.organisation, each.name, each.argv) for each in found] == [
        (None, "pgpool2", ("/usr/bin/sudo", "-n", "systemctl", "restart", "pgpool 2")),
        ("acme", "lab", ("/opt/restart", "{path}")),
    ]
    assert environment.restart_commands({}, NAME) == []


@pytest.mark.parametrize(
    "value",
    ["pgpool2", "=/bin/x", "/x=/bin/x", "a b=/bin/x", "x=", "x=systemctl restart", "x=/bin/x '", "script=/bin/x"],
)
def test_odd_restart_commands_are_refused_by_name(value: str):
    with pytest.raises(environment.SettingRefused, match=NAME):
        environment.restart_commands({NAME: value}, NAME)
