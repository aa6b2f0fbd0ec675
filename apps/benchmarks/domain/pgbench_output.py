"""The final report of pgbench 11 to 18, read.

Source: documentation of pgbench, and what it prints: tests/captured/pgbench-15.
Only messages of libpq are translated; the report is English in every locale.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from apps.benchmarks.domain.pgbench_result import Counts, PgbenchResult, Script, Statement, TpsMeaning
from apps.benchmarks.domain.printed import (
    INT,
    NUMBER,
    PERCENT,
    Figures,
    Labelled,
    UnreadableOutputError,
    finite,
    labelled,
    read_labelled,
)


def _count(label: str, name: str) -> Labelled:
    return labelled(f"number of {label}:", rf"(?P<{name}>{INT})(?: {PERCENT})?", f"number of {label}: 0 (0.000%)")


_COUNTS = (
    _count("failed transactions", "failed"),
    _count("serialization failures", "serialization_failures"),
    _count("deadlock failures", "deadlock_failures"),
    _count("other failures", "other_failures"),
    _count("transactions retried", "retried"),
    labelled("total number of retries:", rf"(?P<retries>{INT})", "total number of retries: 0"),
    _count("transactions skipped", "skipped"),
    labelled(
        "latency average",
        rf"[=:] (?P<latency>{NUMBER}) ms(?P<with_failures> \(including failures\))?",
        "latency average = 1.826 ms",
    ),
    labelled("latency stddev", rf"[=:] (?P<stddev>{NUMBER}) ms", "latency stddev = 5.851 ms"),
)

_TOTALS = (
    labelled("transaction type:", r"(?P<transaction_type>.+)", "transaction type: <builtin: select only>"),
    labelled("scaling factor:", rf"(?P<scale>{INT})", "scaling factor: 10"),
    labelled("partition method:", r"(?P<partition_method>\w+)", "partition method: range"),
    labelled("partitions:", rf"(?P<partitions>{INT})", "partitions: 4"),
    labelled("query mode:", r"(?P<query_mode>\w+)", "query mode: simple"),
    labelled("number of clients:", rf"(?P<clients>{INT})", "number of clients: 4"),
    labelled("number of threads:", rf"(?P<threads>{INT})", "number of threads: 2"),
    labelled("maximum number of tries:", rf"(?P<max_tries>{INT})", "maximum number of tries: 1"),
    labelled("duration:", rf"(?P<duration>{INT}) s", "duration: 60 s"),
    labelled("number of transactions per client:", rf"(?P<per_client>{INT})", "number of transactions per client: 10"),
    labelled(
        "number of transactions actually processed:",
        rf"(?P<transactions>{INT})(?:/(?P<wanted>-?{INT}))?",
        "number of transactions actually processed: 6504",
    ),
    labelled(
        "number of transactions above the ",
        rf"(?P<limit>{NUMBER}) ms latency limit: (?P<above>{INT})(?:/{INT})? {PERCENT}",
        "number of transactions above the 5.0 ms latency limit: 4/269 (1.487%)",
    ),
    labelled(
        "rate limit schedule lag:",
        rf"avg (?P<lag>{NUMBER}) \(max (?P<lag_max>{NUMBER})\) ms",
        "rate limit schedule lag: avg 0.145 (max 3.546) ms",
    ),
    labelled("initial connection time", rf"= (?P<initial>{NUMBER}) ms", "initial connection time = 20.222 ms"),
    labelled("average connection time", rf"= (?P<average>{NUMBER}) ms", "average connection time = 2.222 ms"),
    *_COUNTS,
)

_SCRIPT = (
    labelled(
        "weight:",
        rf"(?P<weight>{INT}) \(targets (?P<target>{NUMBER})% of total\)",
        "weight: 1 (targets 25.0% of total)",
    ),
    labelled(
        "number of transactions actually processed:",
        rf"(?P<transactions>{INT})(?: \(tps = (?P<tps>{NUMBER})\))?",
        "number of transactions actually processed: 10 (tps = 2.5)",
    ),
    *_COUNTS,
)

_SCRIPT_SHARE = re.compile(
    rf"(?P<all_transactions>{INT}) transactions \((?P<share>{NUMBER})% of total(?:, tps = (?P<tps>{NUMBER}))?\)"
)
_SCRIPT_HEAD = re.compile(rf"SQL script (?P<number>{INT}): (?P<name>.*)")
_TPS = re.compile(rf"tps = (?P<tps>{NUMBER}) \((?P<words>.+)\)")
_TPS_WORDS = {
    "without initial connection time": TpsMeaning.WITHOUT_INITIAL_CONNECTIONS,
    "including reconnection times": TpsMeaning.INCLUDING_RECONNECTIONS,
    "excluding connections establishing": TpsMeaning.EXCLUDING_CONNECTIONS,
    "including connections establishing": TpsMeaning.INCLUDING_CONNECTIONS,
}
_STATEMENTS_HEAD = re.compile(
    r"(?:- )?statement latencies in milliseconds(?P<columns>| and failures|, failures and retries):"
)
_STATEMENT = {
    "": re.compile(rf"\s*(?P<latency>{NUMBER})\s+(?P<text>\S.*)"),
    " and failures": re.compile(rf"\s*(?P<latency>{NUMBER})\s+(?P<failures>{INT})\s+(?P<text>\S.*)"),
    ", failures and retries": re.compile(
        rf"\s*(?P<latency>{NUMBER})\s+(?P<failures>{INT})\s+(?P<retries>{INT})\s+(?P<text>\S.*)"
    ),
}
_BANNER = re.compile(r"pgbench \((?P<version>\d+\S*)(?: \([^)]*\))?(?:, server (?P<server>.+?))?\)")
_INCOMPLETE = re.compile(
    r"Run was aborted; the above results are incomplete|client \d+ (?:script \d+ )?aborted in command"
)
_NEEDED = (
    ("clients", "number of clients: 4"),
    ("transactions", "number of transactions actually processed: 6504"),
)


@dataclass
class _Section:
    """The whole report, or one script of it."""

    number: int = 0
    name: str = ""
    figures: Figures = field(default_factory=Figures)
    statements: list[Statement] = field(default_factory=list)

    def counts(self) -> Counts:
        integer = self.figures.integer
        return Counts(
            failed=integer("failed"),
            serialization_failures=integer("serialization_failures"),
            deadlock_failures=integer("deadlock_failures"),
            other_failures=integer("other_failures"),
            retried=integer("retried"),
            retries=integer("retries"),
            skipped=integer("skipped"),
        )

    def as_script(self) -> Script:
        figures = self.figures
        transactions = figures.integer("transactions")
        return Script(
            number=self.number,
            name=self.name,
            weight=figures.integer("weight"),
            target_percent=figures.number("target"),
            share_percent=figures.number("share"),
            transactions=figures.integer("all_transactions") if transactions is None else transactions,
            tps=figures.number("tps"),
            counts=self.counts(),
            latency_ms=figures.number("latency"),
            latency_stddev_ms=figures.number("stddev"),
            statements=tuple(self.statements),
        )


class _Reader:
    def __init__(self) -> None:
        self.total = _Section()
        self.scripts: list[_Section] = []
        self.tps: dict[TpsMeaning, float | None] = {}
        self.banner: re.Match[str] | None = None
        self.begun = False
        self.partial = False
        self._columns: str | None = None

    def line(self, line_number: int, line: str) -> None:
        stripped = line.strip()
        self.partial = self.partial or _INCOMPLETE.search(stripped) is not None
        if not self.begun:
            self.banner = _BANNER.fullmatch(stripped) or self.banner
            self.begun = stripped.startswith("transaction type:")
        elif stripped.startswith("transaction type:"):
            raise UnreadableOutputError(line_number, line, "one report only; a second one begins here")
        if self.begun and not self._statement(line):
            self._line_of_report(line_number, stripped)

    def _statement(self, line: str) -> bool:
        """Whether the line is one of a list of statements, which ends with the first line of another form."""
        if self._columns is None:
            return False
        match = _STATEMENT[self._columns].fullmatch(line.rstrip())
        latency = None if match is None else finite(match["latency"])
        if match is None or latency is None:
            self._columns = None
            return False
        counted = Figures({name: text for name, text in match.groupdict().items() if text is not None})
        section = self.scripts[-1] if self.scripts else self.total
        section.statements.append(
            Statement(match["text"], latency, counted.integer("failures"), counted.integer("retries"))
        )
        return True

    def _line_of_report(self, line_number: int, line: str) -> None:
        if (head := _STATEMENTS_HEAD.fullmatch(line)) is not None:
            self._columns = head["columns"]
        elif (script := _SCRIPT_HEAD.fullmatch(line)) is not None:
            self.scripts.append(_Section(int(script["number"]), script["name"]))
        elif line.startswith("tps = "):
            self._tps(line_number, line)
        elif line.startswith("- ") and self.scripts:
            self._line_of_script(line_number, line.removeprefix("- "))
        else:
            self.total.figures.texts.update(read_labelled(_TOTALS, line_number, line) or {})

    def _line_of_script(self, line_number: int, line: str) -> None:
        share = _SCRIPT_SHARE.fullmatch(line)
        found = share.groupdict() if share is not None else read_labelled(_SCRIPT, line_number, line) or {}
        self.scripts[-1].figures.texts.update({name: text for name, text in found.items() if text is not None})

    def _tps(self, line_number: int, line: str) -> None:
        match = _TPS.fullmatch(line)
        if match is None or match["words"] not in _TPS_WORDS:
            meanings = ", ".join(f"({words})" for words in _TPS_WORDS)
            raise UnreadableOutputError(line_number, line, f"'tps = 2185.290015' and one of {meanings}")
        self.tps[_TPS_WORDS[match["words"]]] = finite(match["tps"])

    def result(self) -> PgbenchResult:
        figures = self.total.figures
        needed = {}
        for name, example in _NEEDED:
            value = figures.integer(name)
            if value is None:
                raise UnreadableOutputError(0, "", f"a line such as {example!r} in the report")
            needed[name] = value
        # The last meaning is the weakest one, taken only where there is no better.
        meaning = next((meaning for meaning in TpsMeaning if meaning in self.tps), None)
        if meaning is None and needed["transactions"]:
            raise UnreadableOutputError(0, "", "a line such as 'tps = 2185.290015 (without initial connection time)'")
        latency = figures.number("latency")
        return PgbenchResult(
            version=self.banner["version"] if self.banner else None,
            server_version=self.banner["server"] if self.banner else None,
            transaction_type=figures.texts["transaction_type"],
            scale=figures.integer("scale"),
            partition_method=figures.text("partition_method"),
            partitions=figures.integer("partitions"),
            query_mode=figures.text("query_mode"),
            clients=needed["clients"],
            threads=figures.integer("threads"),
            max_tries=figures.integer("max_tries"),
            duration_s=figures.integer("duration"),
            transactions_per_client=figures.integer("per_client"),
            transactions=needed["transactions"],
            transactions_wanted=figures.integer("wanted"),
            counts=self.total.counts(),
            latency_limit_ms=figures.number("limit"),
            above_latency_limit=figures.integer("above"),
            latency_ms=latency,
            latency_stddev_ms=figures.number("stddev"),
            # What was measured always comes with its stddev.
            latency_is_derived=latency is not None and figures.text("stddev") is None,
            latency_includes_failures=figures.text("with_failures") is not None,
            schedule_lag_ms=figures.number("lag"),
            schedule_lag_max_ms=figures.number("lag_max"),
            initial_connection_ms=figures.number("initial"),
            average_connection_ms=figures.number("average"),
            tps=None if meaning is None or not needed["transactions"] else self.tps[meaning],
            tps_meaning=meaning,
            tps_including_connections=self.tps.get(TpsMeaning.INCLUDING_CONNECTIONS),
            statements=tuple(self.total.statements),
            scripts=tuple(script.as_script() for script in self.scripts),
            partial=self.partial,
        )


def parse_result(text: str) -> PgbenchResult:
    """Read the final report out of what pgbench printed, to standard output or to both of its streams.

    Lines around it (progress, notices, a shell) are passed over.
    Raises UnreadableOutputError where there is no report, a line of it is missing or unreadable, or a second begins.
    """
    reader = _Reader()
    # Not splitlines(): a statement may hold characters that Python takes for ends of lines.
    for line_number, line in enumerate(text.split("\n"), start=1):
        reader.line(line_number, line)
    if not reader.begun:
        raise UnreadableOutputError(0, "", "a report of pgbench, which begins with 'transaction type:'")
    return reader.result()
