"""Own scripts: what a run takes, and what it refuses before anybody runs it."""

from typing import Any

import pytest

from apps.benchmarks.domain.pgbench_scripts import META_COMMANDS, Scripts
from apps.benchmarks.domain.workload_parameters import ParameterRefused

SCRIPTS = Scripts("scripts", "Scripts")


def script(sql: Any = "SELECT 1;", **changes: Any) -> dict[str, Any]:
    return {"name": "look", "sql": sql, **changes}


def test_scripts_are_taken_as_they_stand_with_a_weight_of_one() -> None:
    sql = "\\set aid random(1, 100 * :scale)\r\n\\if :aid > 5\nSELECT 'ä';\n\\endif\nSELECT 1 \\gset a_\n"

    assert SCRIPTS.read([script(sql), script(name="pay 2", weight=7)]) == [
        {"name": "look", "sql": sql, "weight": 1},
        {"name": "pay 2", "sql": "SELECT 1;", "weight": 7},
    ]


@pytest.mark.parametrize("word", META_COMMANDS)
def test_commands_that_stay_inside_pgbench_are_taken(word: str) -> None:
    sql = f"SELECT 1;\n\\{word} x\n\\{word.upper()}"

    assert SCRIPTS.read([script(sql)])[0]["sql"] == sql


@pytest.mark.parametrize(
    ("sql", "named"),
    [
        ("\\shell id", "\\\\shell"),
        ("\\setshell a id", "\\\\setshell"),
        ("\\SHELL id", "\\\\SHELL"),
        ("SELECT 1; \\shell id", "\\\\shell"),  # behind a statement
        ("SELECT 1 \\shell id", "\\\\shell"),  # within one
        ("/* */ \\shell id", "\\\\shell"),
        ("SELECT '\\shell id'", "\\\\shell"),  # whether the quote is open depends on the server's settings
        ("\\! id", "\\\\!"),
        ("\\i /etc/passwd", "\\\\i"),
        ("\\ shell id", "\\\\ "),
        ("\\\\\nshell id", "\\\\"),  # a backslash, then a line that goes on
        ("\\\nshell id", "\\\\"),
        ("\\set\\shell id", "\\\\set"),
        ("\\set;x", "\\\\set"),
        ("\\sets a 1", "\\\\sets"),
        ("\\", "\\\\"),
    ],
)
def test_whatever_might_leave_pgbench_is_refused(sql: str, named: str) -> None:
    with pytest.raises(ParameterRefused, match="cannot be taken") as refused:
        SCRIPTS.read([script("SELECT 1;\n" + sql)])

    assert refused.value.path == "scripts.0.sql"
    assert str(refused.value.value).startswith(named.replace("\\\\", "\\"))
    assert "in line 2" in refused.value.expected


@pytest.mark.parametrize(
    ("given", "path", "words"),
    [
        (None, "scripts", "a list of 1 to 20"),
        ([], "scripts", "a list of 1 to 20"),
        ("SELECT 1", "scripts", "a list of 1 to 20"),
        ([script(name=f"s{number}") for number in range(21)], "scripts", "a list of 1 to 20"),
        (["SELECT 1"], "scripts.0", "an object"),
        ([script(file="/etc/passwd")], "scripts.0.file", "no field"),
        ([script(), script(name="../x")], "scripts.1.name", "letter or digit first"),
        ([script(name="a@b")], "scripts.0.name", "letters of the alphabet"),
        ([script(name="")], "scripts.0.name", "1 to 60"),
        ([script(), script()], "scripts.1.name", "of another script"),
        ([script(weight=0)], "scripts.0.weight", "from 1 to 10000"),
        ([script(weight=True)], "scripts.0.weight", "from 1 to 10000"),
        ([script(weight=1.5)], "scripts.0.weight", "from 1 to 10000"),
        ([script(" \n")], "scripts.0.sql", "1 to 20000 characters"),
        ([script(None)], "scripts.0.sql", "1 to 20000 characters"),
        ([script("x" * 20_001)], "scripts.0.sql", "1 to 20000 characters"),
        ([script("SELECT '\0'")], "scripts.0.sql", "cannot stand in a script"),
        ([script("SELECT '\ud800'")], "scripts.0.sql", "cannot stand in a script"),
        ([script("SELECT 1\v\\shell id")], "scripts.0.sql", "cannot stand in a script"),
    ],
)
def test_each_fault_is_told_with_its_place(given: object, path: str, words: str) -> None:
    with pytest.raises(ParameterRefused, match="scripts") as refused:
        SCRIPTS.read(given)

    assert refused.value.path == path
    assert words in refused.value.expected
