"""Own scripts of pgbench as a run takes them: their names, their weights, and which meta-commands may stand in them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

from apps.benchmarks.domain.workload_parameters import ParameterDescribed, ParameterRefused

MOST_SCRIPTS = 20
MOST_CHARACTERS = 20_000
MOST_WEIGHT = 10_000
# None of them leaves pgbench. \shell and \setshell would run a program on the worker.
META_COMMANDS = (
    "set", "sleep", "if", "elif", "else", "endif", "gset", "aset", "startpipeline", "syncpipeline", "endpipeline",
)  # fmt: skip
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,59}")
# pgbench takes a backslash anywhere outside quotes as the begin of a command, in letters of any case, and goes on with
# the next line after one at the end of a line. Whether a quote is open only its own lexer knows: so none is left open
# to doubt, and each backslash stands before a word of the list.
_COMMAND = re.compile(r"\\(?P<word>[A-Za-z]*)(?P<end>.?)", re.DOTALL)
_ENDS = ("", " ", "\t", "\n", "\r")


class PgbenchScript(TypedDict):
    """weight: of all transactions, as large a share as that of all weights."""

    name: str
    sql: str
    weight: int


@dataclass(frozen=True)
class Scripts:
    """A list of scripts, as [{"name": "pay", "sql": "…", "weight": 3}]; a weight that is left out is 1."""

    name: str
    label: str
    default: None = None

    def read(self, value: object) -> list[PgbenchScript]:
        if not isinstance(value, list) or not 1 <= len(value) <= MOST_SCRIPTS:
            shown = f"{len(value)} scripts" if isinstance(value, list) else value
            expected = f'must be a list of 1 to {MOST_SCRIPTS} scripts, as [{{"name": "pay", "sql": "…", "weight": 1}}]'
            raise ParameterRefused(self.name, shown, expected)
        found = [_script(f"{self.name}.{position}", one) for position, one in enumerate(value)]
        names = [one["name"] for one in found]
        for position, name in enumerate(names):
            if name in names[:position]:
                raise ParameterRefused(f"{self.name}.{position}.name", name, "is the name of another script, too")
        return found

    def described(self) -> ParameterDescribed:
        return {
            "name": self.name, "kind": "scripts", "label": self.label, "unit": "", "least": 1, "most": MOST_SCRIPTS,
            "choices": None, "default": None,
        }  # fmt: skip


def _script(path: str, given: object) -> PgbenchScript:
    if not isinstance(given, Mapping):
        raise ParameterRefused(path, given, "must be an object with name, sql and weight")
    if unknown := sorted(str(key) for key in set(given) - {"name", "sql", "weight"}):
        raise ParameterRefused(
            f"{path}.{unknown[0]}", given[unknown[0]], "is no field here; there are name, sql, weight"
        )
    name = given.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        expected = "must be 1 to 60 letters of the alphabet, digits, blanks, points, _ or -, a letter or digit first"
        raise ParameterRefused(f"{path}.name", name, expected)
    weight = given.get("weight", 1)
    if not isinstance(weight, int) or isinstance(weight, bool) or not 1 <= weight <= MOST_WEIGHT:
        raise ParameterRefused(f"{path}.weight", weight, f"must be a whole number from 1 to {MOST_WEIGHT}")
    return {"name": name, "sql": _sql(f"{path}.sql", given.get("sql")), "weight": weight}


def _sql(path: str, given: Any) -> str:
    if not isinstance(given, str) or not given.strip() or len(given) > MOST_CHARACTERS:
        shown = f"{len(given)} characters" if isinstance(given, str) else given
        raise ParameterRefused(path, shown, f"must be a text of 1 to {MOST_CHARACTERS} characters")
    if any(not character.isprintable() and character not in "\n\r\t" for character in given):
        bad = next(each for each in given if not each.isprintable() and each not in "\n\r\t")
        raise ParameterRefused(path, ascii(bad), "is a character that cannot stand in a script")
    for match in _COMMAND.finditer(given):
        if match["word"].lower() in META_COMMANDS and match["end"] in _ENDS:
            continue
        line = given.count("\n", 0, match.start()) + 1
        allowed = ", ".join(f"\\{word}" for word in META_COMMANDS)
        raise ParameterRefused(
            path,
            f"\\{match['word'] or match['end']}",
            f"in line {line} cannot be taken: a backslash begins a command of pgbench, of which a run takes {allowed}. "
            "In a text of SQL, chr(92) stands for one",
        )
    return given
