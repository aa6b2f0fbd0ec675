"""The program: python -m apps.benchmarks.drivers.query_cache load ORDER --conf FILE --pgbench PROGRAM.

It finds the account by the variables of libpq and prints what domain.own_program says. FILE is the pgpool.conf of the
pgpool that the scratches are made from. SIGTERM ends it early, with a report that says so.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import psycopg

from apps.benchmarks.domain import cache_calibration, cache_writes, own_program
from apps.benchmarks.domain.cache_calibration import CachePointRow, Plan, Slice
from apps.benchmarks.domain.cache_writes import CacheWriteRow, WriteSlice
from apps.benchmarks.domain.load_report import LoadSecond
from apps.benchmarks.domain.scratch_conf import OFF, Account
from apps.benchmarks.drivers.own_program import Order
from apps.benchmarks.drivers.query_cache.scratch import READ_ONLY, ScratchFailed, ScratchPgpool, scratches
from apps.benchmarks.drivers.query_cache.slices import SliceFailed, Slices
from apps.clusters.domain.pgpool_conf import ConfigSyntaxError, IncludeUnsupported, UnwritableValue
from apps.clusters.outside.delivery.dry_run import find_pgpool


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m apps.benchmarks.drivers.query_cache", description=__doc__)
    parser.add_argument("action", choices=["load"])
    parser.add_argument("order", type=Order.parse)
    parser.add_argument("--conf", type=Path, required=True)
    parser.add_argument("--pgbench", required=True)
    asked = parser.parse_args(words)
    try:
        return _load(asked.order, asked.conf, asked.pgbench)
    except (ScratchFailed, SliceFailed) as error:
        return _failed(str(error), "")
    except (ConfigSyntaxError, IncludeUnsupported, UnwritableValue) as error:
        return _failed(f"no scratch pgpool can be made from this configuration: {error}", "")
    except psycopg.Error as error:
        return _failed(" ".join(str(error).split()) or type(error).__name__, "")


def _load(order: Order, conf: Path, pgbench: str) -> int:
    plan = cache_calibration.plan(order.parameters, duration_s=order.duration_s, clients=order.clients)
    account = Account(os.environ["PGUSER"], os.environ.get("PGPASSWORD", ""), os.environ["PGDATABASE"])
    reads, writes = conf.parent / "reads.sql", conf.parent / "writes.sql"
    reads.write_text(plan.script, encoding="utf-8")
    writes.write_text(cache_writes.script(plan.write_sql), encoding="utf-8")
    variables = {**os.environ, "PGSSLMODE": "disable"}
    read_only = {**variables, "PGOPTIONS": READ_ONLY}
    slices = Slices(plan, pgbench, reads, writes, variables, read_only, account.username, account.database)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: slices.stop())
    with scratches(
        plan.sides, text=conf.read_text(encoding="utf-8"), clients=plan.sessions, account=account,
        pgpool=find_pgpool() or "pgpool", memcached=shutil.which("memcached") or "memcached",
    ) as pgpools:  # fmt: skip
        calibration = _Calibration(plan, slices, pgpools)
        calibration.go()
        _print(own_program.line("report", calibration.report()))
    return 0


class _Calibration:
    """The blocks of one load, and what they found."""

    def __init__(self, plan: Plan, slices: Slices, pgpools: dict[str, ScratchPgpool]) -> None:
        self._plan = plan
        self._slices = slices
        self._pgpools = pgpools
        self._points: list[CachePointRow] = []
        self._writes: list[CacheWriteRow] = []
        self._done: list[Slice] = []
        self._began = time.monotonic()
        self._told_s = 0
        self._is_cut_short = False

    def go(self) -> None:
        """Until all blocks are done, or it is stopped: whole turns are kept then."""
        try:
            self._go()
        except SliceFailed:
            if not self._slices.is_stopped:
                raise

    def _go(self) -> None:
        # Each pgpool opens its sessions to the backends, and reads their catalogues, before anything counts.
        for pgpool in self._pgpools.values():
            self._slices.measure(pgpool, 1000, seconds=1)
        chance = random.SystemRandom()
        longest_s = 0.0
        for block in range(self._plan.blocks):
            began_s = self._spent_s()
            # On a busy machine turns take longer than planned: fewer blocks then, and none that is half.
            if block and began_s + longest_s > self._plan.duration_s:
                return
            self._block(block, chance)
            longest_s = max(longest_s, self._spent_s() - began_s)

    def _block(self, block: int, chance: random.Random) -> None:
        for level, sides in self._plan.turns(block, chance):
            if self._is_late():
                return
            turn = [self._read(side, level) for side in sides]
            self._points += cache_calibration.points(block, level, turn)
            self._done += turn
        for rate, sides in self._plan.write_turns(chance):
            if self._is_late():
                return
            self._writes += cache_writes.rows(block, rate, [self._write(side, rate) for side in sides])

    def _spent_s(self) -> float:
        return time.monotonic() - self._began

    def _is_late(self) -> bool:
        """Whether its time is over: what was measured until then is worth more than to be ended without a report."""
        self._is_cut_short = self._is_cut_short or self._spent_s() > self._plan.duration_s
        return self._is_cut_short

    def _read(self, side: str, level: int) -> Slice:
        self._go_on()
        found = self._slices.measure(self._pgpools[side], level)
        self._go_on()
        self._tell(found.tps, found.latency_ms)
        _print(f"{side}: {found.tps:,.0f} tps, {found.hits} hits, {found.selects} others")
        return found

    def _write(self, side: str, rate: int) -> WriteSlice:
        self._go_on()
        found = self._slices.measure_writing(self._pgpools[side], rate, uncached=self._pgpools[OFF])
        self._go_on()
        self._tell(found.tps, None)
        beside = f"{found.writes_per_s:,.0f} of {rate} writes per s beside"
        old = f"; {found.stale_keys} of {found.kept_keys} kept answers had old rows" if found.kept_keys else ""
        _print(f"{side}: {found.tps:,.0f} tps, {found.hits} hits, {found.selects} others, {beside}{old}")
        return found

    def _go_on(self) -> None:
        if self._slices.is_stopped:
            raise SliceFailed("it was stopped.")

    def report(self) -> dict[str, object]:
        transactions = sum(one.transactions for one in self._done)
        spent_s = sum(one.transactions / one.tps for one in self._done if one.tps)
        caches: dict[str, dict[str, int]] = {}
        for side, one in self._pgpools.items():
            with contextlib.suppress(psycopg.Error):  # worth less than what was measured
                caches |= {side: asdict(one.show_cache())} if side != OFF else {}
        return {
            "tps": transactions / spent_s if spent_s else 0.0,
            "transactions": transactions,
            "is_partial": self._slices.is_stopped,
            "own": {
                "cache_points": self._points,
                "cache_writes": self._writes,
                "caches": caches,
                "plan": {**asdict(self._plan), "levels": list(cache_calibration.LEVELS)},
                "findings": [
                    *cache_calibration.findings(self._points, is_cut_short=self._is_cut_short),
                    *cache_writes.findings(self._writes),
                ],
            },
        }

    def _tell(self, tps: float, latency_ms: float | None) -> None:
        """Of every second of a slice, once it has ended; another may end in the same second."""
        until_s = int(self._spent_s())
        for at_s in range(self._told_s + 1, until_s + 1):
            _print(own_program.line("second", asdict(LoadSecond(at_s, tps, latency_ms))))
        self._told_s = max(self._told_s, until_s)


def _failed(reason: str, fix: str) -> int:
    _print(own_program.line("failure", {"reason": reason, "fix": fix}))
    return 1


def _print(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
