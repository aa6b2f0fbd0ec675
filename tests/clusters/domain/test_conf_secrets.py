"""Secrets of a pgpool.conf, hidden wherever and however they are written."""

import pytest

from apps.clusters.domain import pgpool_conf
from apps.clusters.domain.conf_secrets import is_secret, mask_text, mask_value
from apps.clusters.domain.pgpool_conf import line_diff, parse, semantic_diff

LINES = [
    "sr_check_password = 'hunter2' # older: 'hunter2'",
    "SR_CHECK_PASSWORD = 'hunter2'",
    "health_check_password0'hunter2'",
    "wd_authkey hunter2",
    "log_connections = on sr_check_password = hunter2",
    "log_connections on sr_check_password hunter2",
    "log_line_prefix = 'x'recovery_password 'hunter2'",
    "# recovery_password = 'hunter2'",
    "port = 9999 # was: wd_lifecheck_password = 'hunter2'",
    "failover_command = '/bin/x --dsn postgresql://user:hunter2@host/db %d'",
    "failover_command = 'PGPASSWORD=hunter2 psql -c x'",
    "failover_command = '/bin/x \"host=h password = hunter2 user=u\"'",
    "follow_primary_command = 'PgPassword=\"hunter2\" x'",
    "ssl_passphrase_command = 'echo hunter2'",
    "# primary_conninfo: host=h passwd=hunter2",
    "sr_check_password = 'it\\'s hunter2'",
    "sr_check_password = hunter2\r",
    "sr_check_password = 'hunter2",
]


@pytest.mark.parametrize("line", LINES)
def test_no_way_of_writing_a_secret_shows_it(line: str) -> None:
    masked = mask_text(f"a = 1\n{line}\nb = 2\n")

    assert "hunter2" not in masked
    assert "*****" in masked
    assert masked.startswith("a = 1\n")
    assert masked.endswith("\nb = 2\n")
    assert mask_text(masked) == masked


@pytest.mark.parametrize("line", LINES)
def test_no_diff_shows_a_secret(line: str) -> None:
    before, after = f"port = 1\n{line}\n", f"port = 2\n{line.replace('hunter2', 'hunter22')}\n"

    assert "hunter" not in str(line_diff(before, after))
    if line != LINES[-1]:  # pgpool's scanner itself does not end there
        assert "hunter" not in str(semantic_diff(parse(before), parse(after)))


@pytest.mark.parametrize(
    "line",
    [
        "# the password of the user stands elsewhere",
        "sr_check_password = ''",
        "pool_passwd = 'pool_passwd'",
        "failover_command = '/etc/pgpool2/failover.sh %d %h'",
        "database_redirect_preference_list = 'a:primary,b:1(0.5)'",
        "# see https://www.pgpool.net/docs/latest/en/html/runtime-config.html",
        "log_line_prefix = '%t: pid %p: '",
    ],
)
def test_what_is_no_secret_stays(line: str) -> None:
    assert mask_text(f"{line}\n") == f"{line}\n"


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("sr_check_password", "hunter2", "*****"),
        ("Health_Check_Password12", "hunter2", "*****"),
        ("sr_check_password", "", ""),
        ("failover_command", "x --password=hunter2 %d", "x --password=***** %d"),
        ("failover_command", "PGPASSWORD=hunter2 psql", "PGPASSWORD=***** psql"),
        ("failover_command", "psql postgresql://u:hun@ter2@h/db", "psql postgresql://u:*****@h/db"),
        ("failover_command", "psql 'host=h password=hunter2 user=u'", "psql 'host=h password=***** user=u'"),
        ("delay_threshold", "1000", "1000"),
    ],
)
def test_a_value_shows_all_but_its_secret(name: str, value: str, shown: str) -> None:
    assert mask_value(name, value) == shown


def test_the_name_of_the_password_file_is_no_secret() -> None:
    assert not is_secret("pool_passwd")
    assert is_secret("WD_AUTHKEY")


@pytest.mark.parametrize(
    "line",
    ["sr_check_password: 'hunter2'", "wd_authkey:hunter2", "sr_check_password,'hunter2'", "x_password.hunter2 = 1"],
)
def test_a_line_that_cannot_be_read_is_told_without_its_secret(line: str) -> None:
    with pytest.raises(pgpool_conf.ConfigSyntaxError) as caught:
        pgpool_conf.parse(f"port = 9999\n{line}\n")

    assert "hunter2" not in str(caught.value)
    assert "line 2" in str(caught.value)
