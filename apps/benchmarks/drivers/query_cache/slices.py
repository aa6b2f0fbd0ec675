"""One slice: pgbench against one scratch pgpool, and by how much the counters of its cache grew meanwhile."""

from __future__ import annotations

import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from apps.benchmarks.domain import cache_writes
from apps.benchmarks.domain.cache_calibration import Plan, Slice
from apps.benchmarks.domain.cache_writes import WriteSlice
from apps.benchmarks.domain.pgbench_failure import parse_failure
from apps.benchmarks.domain.pgbench_output import parse_result
from apps.benchmarks.domain.pgbench_result import PgbenchResult
from apps.benchmarks.domain.printed import UnreadableOutputError
from apps.benchmarks.domain.scratch_conf import LOOPBACK, MEMCACHED
from apps.benchmarks.drivers.query_cache import old_answers
from apps.benchmarks.drivers.query_cache.scratch import ScratchPgpool

_GRACE_S = 10


class SliceFailed(RuntimeError):
    """pgbench did not measure. The text says why, and what mends it."""


@dataclass
class Slices:
    """reads, writes: scripts of pgbench. environment: how it signs in; read_only: the same for what only reads.

    is_stopped: set once no further slice is wanted.
    """

    plan: Plan
    pgbench: str
    reads: Path
    writes: Path
    environment: dict[str, str]
    read_only: dict[str, str]
    username: str
    database: str
    is_stopped: bool = False
    _running: list[subprocess.Popen[str]] = field(default_factory=list, repr=False)

    def stop(self) -> None:
        self.is_stopped = True
        for process in self._running:
            process.terminate()

    def measure(self, pgpool: ScratchPgpool, level: int, *, seconds: int | None = None) -> Slice:
        """level: of a thousand. Raises SliceFailed."""
        seconds = seconds or self.plan.slice_s
        before = pgpool.show_cache()
        [reads] = self._results(pgpool, [self._reading(pgpool, level, seconds)], seconds)
        hits, selects = self._grown(pgpool, before.hit_count, before.miss_count)
        return Slice(
            pgpool.scratch.storage, reads.tps or 0.0, reads.transactions, reads.latency_ms, hits, selects
        )  # fmt: skip

    def measure_writing(self, pgpool: ScratchPgpool, rate: int, *, uncached: ScratchPgpool) -> WriteSlice:
        """Reads, mostly of hot keys, beside so many writes per second to the same table. Raises SliceFailed.

        uncached: the side without a cache, which may be this one.
        """
        seconds = self.plan.slice_s
        before = pgpool.show_cache()
        programs = [self._reading(pgpool, cache_writes.LEVEL, seconds), self._writing(pgpool, rate, seconds)]
        reads, writes = self._results(pgpool, programs, seconds)
        hits, selects = self._grown(pgpool, before.hit_count, before.miss_count)
        waited_ms = writes.schedule_lag_ms or 0.0  # for its turn, not for pgpool
        latency_ms = None if writes.latency_ms is None else max(0.0, writes.latency_ms - waited_ms)
        # What was not written cannot be old; the side without a cache empties nothing here.
        kept, stale = self._old_answers(pgpool, uncached) if writes.transactions else (0, 0)
        # Its own rate counts until the last write that was due, which is too soon in a short slice.
        made_per_s = writes.transactions / seconds
        return WriteSlice(
            pgpool.scratch.storage, reads.tps or 0.0, hits, selects, made_per_s, latency_ms, kept, stale
        )  # fmt: skip

    def _old_answers(self, pgpool: ScratchPgpool, uncached: ScratchPgpool) -> tuple[int, int]:
        if pgpool is uncached or self.is_stopped:
            return 0, 0
        time.sleep(cache_writes.STALE_AFTER_S)
        return old_answers.count(pgpool, uncached, self.plan)

    def _grown(self, pgpool: ScratchPgpool, hits: int, selects: int) -> tuple[int, int]:
        after = pgpool.show_cache()
        if after.hit_count < hits or after.miss_count < selects:
            raise SliceFailed(f"the counters of {pgpool.name} fell: it was started anew meanwhile.")
        return after.hit_count - hits, after.miss_count - selects

    def _reading(self, pgpool: ScratchPgpool, level: int, seconds: int) -> subprocess.Popen[str]:
        words = [
            f"--file={self.reads}", f"--define=level={level}", f"--client={self.plan.clients}",
            f"--jobs={min(self.plan.clients, 4)}",
        ]  # fmt: skip
        return self._started(pgpool, words, seconds, self.read_only)

    def _writing(self, pgpool: ScratchPgpool, rate: int, seconds: int) -> subprocess.Popen[str]:
        sessions = cache_writes.sessions(rate)
        words = [f"--file={self.writes}", f"--client={sessions}", f"--jobs={min(sessions, 4)}", f"--rate={rate}"]
        return self._started(pgpool, words, seconds, self.environment)

    def _started(
        self, pgpool: ScratchPgpool, words: list[str], seconds: int, environment: dict[str, str]
    ) -> subprocess.Popen[str]:
        command = [
            self.pgbench, f"--host={LOOPBACK}", f"--port={pgpool.scratch.port}", f"--username={self.username}",
            "--no-vacuum", "--protocol=simple", f"--define=key_space={self.plan.key_space}",
            f"--define=hot_keys={self.plan.hot_keys}", *words,
            f"--time={seconds}", self.database,
        ]  # fmt: skip
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, errors="replace",
        )  # fmt: skip
        self._running.append(process)
        if self.is_stopped:  # the signal came between the last look and this start
            process.terminate()
        return process

    def _results(
        self, pgpool: ScratchPgpool, programs: list[subprocess.Popen[str]], seconds: int
    ) -> list[PgbenchResult]:
        """Of all programs of one slice, each once it has ended. None outlives the slice."""
        try:
            return [self._result(pgpool, program, seconds) for program in programs]
        finally:
            for program in programs:
                if program.poll() is None:
                    program.kill()
                    program.wait()
            self._running.clear()

    def _result(self, pgpool: ScratchPgpool, program: subprocess.Popen[str], seconds: int) -> PgbenchResult:
        try:
            output, _ = program.communicate(timeout=seconds + _GRACE_S)
        except subprocess.TimeoutExpired as error:
            waits = ": its memcached may be frozen" if pgpool.scratch.storage == MEMCACHED else ""
            silent = f"pgbench at {pgpool.name} did not end within {_GRACE_S} s after its time"
            raise SliceFailed(f"{silent}{waits}.") from error
        if program.returncode and not self.is_stopped:
            failure = parse_failure(output, exit_status=program.returncode)
            raise SliceFailed(f"{failure.reason} {failure.fix} It printed: {failure.printed or output[-300:]}".strip())
        try:
            return parse_result(output)
        except UnreadableOutputError as error:
            raise SliceFailed(f"what pgbench printed of {pgpool.name} cannot be read. {error}") from error
