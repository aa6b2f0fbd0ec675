"""pgpool.conf read, set, compared and masked as pgpool itself would read it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.clusters.domain import pgpool_conf
from apps.clusters.domain.pgpool_conf import ParameterChange, parse

FILE = """\
# pgpool-1
listen_addresses = '*'   # all of them
port = 9999
backend_hostname0 = 'db0.example'
backend_weight0 = 0
backend_hostname2 = 'db2.example'
backend_weight2 = 1  # was 3
backend_hostname1 = ''
sr_check_password = 'hunter2' # older: 'hunter1'
load_balance_mode on
"""


def test_values_are_read_without_quotes_and_comments() -> None:
    conf = parse(FILE)

    assert conf.get("listen_addresses") == "*"
    assert conf.get("backend_weight2") == "1"
    assert conf.get("load_balance_mode") == "on"  # '=' is optional
    assert conf.get("backend_weight1") is None
    assert len(conf.values()) == 9


def test_backends_are_those_with_a_host_name() -> None:
    assert parse(FILE).backend_node_ids() == (0, 2)


# Each value on the right is what `pgpool -f FILE reload` of 4.3.5 printed for the text on the left.
@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("= 'a#b' # c", "a#b"),
        ("= abc#c", "abc"),
        ("'nosep'", "nosep"),
        ("= abc-d.e:f/g", "abc-d.e:f/g"),
        ("= 12abc", "12abc"),
        ("= x y", "x"),
        ("='x\\'y'", "x\\'y"),
        ("='x\\'", "x\\"),
        ("='x\\' # it'", "x\\' # it"),
        ("= éx", "éx"),
        ("\t=\t'x'\r", "x"),
        ("= -0x5", "-0x5"),
        ("= 1.5e3", "1.5e3"),
        ("= -.5", "-.5"),
        ("=", ""),
        ("", ""),
    ],
)
def test_a_value_is_read_as_pgpool_reads_it(written: str, value: str) -> None:
    assert parse(f"before = 1\nname {written}\nafter = 2\n").get("name") == value


def test_an_empty_value_does_not_swallow_the_next_line() -> None:
    assert parse("backend_weight1 =\nport = 9999\n").values() == {"backend_weight1": "", "port": "9999"}


def test_several_settings_may_share_a_line() -> None:
    assert parse("port = 5 pcp_port = 6\n").values() == {"port": "5", "pcp_port": "6"}


def test_the_last_of_several_settings_wins() -> None:
    assert parse("port = 1\nport = 2\n").get("port") == "2"


def test_names_are_case_sensitive_as_in_pgpool() -> None:
    assert parse("PORT = 1\n").get("port") is None


def test_a_byte_order_mark_hides_the_first_name_as_it_does_from_pgpool() -> None:
    assert parse("\ufeffport = 1\npcp_port = 2\n").get("port") is None
    assert parse("\ufeff# comment\nport = 1\n").get("port") == "1"


@pytest.mark.parametrize(
    ("text", "line_number"),
    [
        ("port = 1\n!!\n", 2),
        ("port = 'open\n", 1),
        ("name = 'it''s'\n", 1),
        ("name = a=b\n", 1),
        ("name == 1\n", 1),
        ("= 3\n", 1),
        ("a.b = c\n", 1),
        ("1a = c\n", 1),
        ("weight = 1e5\n", 1),
        ("weight = +x\n", 1),
        ("port = 1\n# a comment that ends the file", 2),
    ],
)
def test_what_pgpool_rejects_is_refused_with_its_line(text: str, line_number: int) -> None:
    with pytest.raises(pgpool_conf.ConfigSyntaxError) as caught:
        parse(text)

    assert caught.value.line_number == line_number
    assert f"line {line_number}" in str(caught.value)


@pytest.mark.parametrize("end", ["# a comment", "port = 2 # a comment"])
def test_a_comment_that_ends_the_file_without_a_line_break_is_refused_with_the_cure(end: str) -> None:
    with pytest.raises(pgpool_conf.ConfigSyntaxError, match="add one at the end"):
        parse(f"port = 1\n{end}")

    assert parse(f"port = 1\n{end}\n").get("port")


@pytest.mark.parametrize("line", ["include = 'more.conf'", "include 'more.conf'"])
def test_an_include_is_refused_in_words(line: str) -> None:
    with pytest.raises(pgpool_conf.IncludeUnsupported, match="put all settings into one file") as caught:
        parse(f"port = 1\n{line}\n")

    assert caught.value.line_number == 2


def test_setting_a_value_keeps_every_other_character() -> None:
    conf = parse(FILE).with_values({"backend_weight2": 750})

    assert conf.text == FILE.replace("backend_weight2 = 1  # was 3", "backend_weight2 = 750  # was 3")


def test_the_assignment_that_counts_is_edited() -> None:
    assert parse("port = 1\nport = '2' # x\n").with_values({"port": 3}).text == "port = 1\nport = '3' # x\n"


def test_a_missing_parameter_is_appended() -> None:
    conf = parse("port = 1").with_values({"backend_weight0": 5, "log_line_prefix": "%t: "})

    assert conf.text == "port = 1\nbackend_weight0 = 5\nlog_line_prefix = '%t: '\n"


def test_a_parameter_without_a_value_gets_one() -> None:
    conf = parse("backend_weight0 =\nbackend_weight1\n").with_values({"backend_weight0": 5, "backend_weight1": 6})

    assert conf.text == "backend_weight0 = 5\nbackend_weight1 = 6\n"


def test_windows_line_ends_stay() -> None:
    assert parse("port = 1\r\n").with_values({"port": 2, "a": 1}).text == "port = 2\r\na = 1\r\n"


def test_the_same_values_leave_the_file_as_it_is() -> None:
    assert parse(FILE).with_values({"port": 9999, "listen_addresses": "*"}).text == FILE


@pytest.mark.parametrize("value", ["it's", "two\nlines", "ends\\"])
def test_a_value_that_the_file_cannot_hold_is_refused(value: str) -> None:
    with pytest.raises(pgpool_conf.UnwritableValue):
        parse(FILE).with_values({"log_line_prefix": value})


@given(
    st.text(st.characters(exclude_characters="'\n\r\0\\", exclude_categories=["Cs"]), max_size=20),
    st.sampled_from(["port", "missing", "load_balance_mode", "backend_hostname1"]),
)
def test_what_is_set_is_read_back(value: str, name: str) -> None:
    assert parse(FILE).with_values({name: value}).get(name) == value


def test_the_semantic_diff_names_values_and_hides_secrets() -> None:
    before = parse(FILE)
    after = parse("# other order\n" + FILE).with_values({"backend_weight2": 3, "sr_check_password": "new", "added": 1})

    assert pgpool_conf.semantic_diff(before, after) == (
        ParameterChange("added", None, "1"),
        ParameterChange("backend_weight2", "1", "3"),
        ParameterChange("sr_check_password", "*****", "*****"),
    )


def test_the_line_diff_marks_where_lines_are_left_out() -> None:
    before = "".join(f"p{number} = {number}\n" for number in range(30))

    lines = pgpool_conf.line_diff(before, before.replace("p5 = 5", "p5 = 6").replace("p20 = 20", "p20 = 21"))

    assert [line.text for line in lines if line.is_after_gap] == ["p17 = 17"]
    assert lines[0].text == "p2 = 2"


def test_the_line_diff_shows_changes_with_some_context() -> None:
    before = "".join(f"p{number} = {number}\n" for number in range(1, 21))

    lines = pgpool_conf.line_diff(before, before.replace("p10 = 10", "p10 = 11"))

    assert [(line.sign, line.old_no, line.new_no, line.text) for line in lines] == [
        (" ", 7, 7, "p7 = 7"),
        (" ", 8, 8, "p8 = 8"),
        (" ", 9, 9, "p9 = 9"),
        ("-", 10, None, "p10 = 10"),
        ("+", None, 10, "p10 = 11"),
        (" ", 11, 11, "p11 = 11"),
        (" ", 12, 12, "p12 = 12"),
        (" ", 13, 13, "p13 = 13"),
    ]


def test_a_changed_password_shows_as_changed_but_not_as_text() -> None:
    lines = pgpool_conf.line_diff("sr_check_password = 'old'\n", "sr_check_password = 'new'\n")

    assert [(line.sign, line.text) for line in lines] == [
        ("-", "sr_check_password = '*****'"),
        ("+", "sr_check_password = '*****'"),
    ]


@pytest.mark.parametrize(
    ("line", "masked"),
    [
        ("sr_check_password = 'hunter2' # older: 'hunter1'", "sr_check_password = '*****'"),
        ("health_check_password0='x'", "health_check_password0='*****'"),
        ("#wd_authkey = 'x'", "#wd_authkey = '*****'"),
        ("recovery_password 'x'", "recovery_password '*****'"),
        ("recovery_password x", "recovery_password '*****'"),
        ("port = 1 wd_lifecheck_password = x", "port = 1 wd_lifecheck_password = '*****'"),
        ("sr_check_password = ''", "sr_check_password = ''"),
        ("pool_passwd = 'pool_passwd'", "pool_passwd = 'pool_passwd'"),
        ("# the password of the user", "# the password of the user"),
    ],
)
def test_secrets_are_masked_wherever_they_stand(line: str, masked: str) -> None:
    assert pgpool_conf.mask_secrets(f"a = 1\n{line}\nb = 2\n") == f"a = 1\n{masked}\nb = 2\n"


def test_a_syntax_error_does_not_repeat_a_password() -> None:
    with pytest.raises(pgpool_conf.ConfigSyntaxError) as caught:
        parse("sr_check_password = 'it''s'\n")

    assert "sr_check_password" in str(caught.value)
    assert "it" not in caught.value.line
