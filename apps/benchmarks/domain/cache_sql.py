"""The statements of a calibration of the query cache: the SELECT that is measured, and the write that empties it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from apps.benchmarks.domain.workload_parameters import ParameterDescribed, ParameterRefused

LOOK_UP = "SELECT abalance FROM pgbench_accounts WHERE aid = :key"
# Every write can be told from the one before, so an old answer shows.
TOUCH = "UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = :key"
_LONGEST = 5_000
# Variables of the script, and those that pgbench always has.
_TAKEN = re.compile(r"(?<![:\w]):(?:turn|mark|level|hot_keys|key_space|scale|client_id|random_seed|default_seed)\b")
KEY = re.compile(r"(?<![:\w]):key\b")


@dataclass(frozen=True)
class Sql:
    """One statement on one line or several. begins: the words that it may begin with.

    needs_key: whether it must ask for :key. default None: it may be left out, or be null.
    """

    name: str
    label: str
    what: str
    begins: tuple[str, ...]
    default: str | None
    needs_key: bool = True

    def read(self, value: object) -> str | None:
        if value is None and self.default is None:
            return None
        if not isinstance(value, str) or not 1 <= len(value.strip()) <= _LONGEST:
            shown = f"{len(value)} characters" if isinstance(value, str) else value
            raise ParameterRefused(self.name, shown, f"must be {self.what} of 1 to {_LONGEST} characters")
        text = " ".join(value.split()).rstrip("; ")
        if not re.match(rf"({'|'.join(self.begins)})\b", text, re.IGNORECASE):
            raise ParameterRefused(self.name, value, f"must begin with {' or '.join(self.begins)}")
        for sign in (";", "\\", "--", "/*", "\0"):
            if sign in text:
                raise ParameterRefused(self.name, value, f"must be one statement without {sign!r} in it")
        if taken := _TAKEN.search(text):
            raise ParameterRefused(self.name, value, f"must not have {taken[0]} in it: the script takes it for its own")
        if "set_config" in text.lower():
            raise ParameterRefused(self.name, value, "must not call set_config: sessions stay read-only")
        if self.needs_key and not KEY.search(text):
            raise ParameterRefused(self.name, value, "must ask for :key, a number that is drawn from the key space")
        return text

    def described(self) -> ParameterDescribed:
        return {
            "name": self.name, "kind": "sql", "label": self.label, "unit": "", "least": 1, "most": _LONGEST,
            "choices": None, "default": self.default,
        }  # fmt: skip


SQL = Sql("sql", "The SELECT that is measured, by :key", "a SELECT", ("SELECT", "WITH"), LOOK_UP)
WRITE_SQL = Sql(
    "write_sql",
    "The write to the table of this SELECT, by :key if it likes; null: one to pgbench's own table",
    "a write",
    ("UPDATE", "INSERT", "DELETE", "MERGE"),
    None,
    needs_key=False,
)
