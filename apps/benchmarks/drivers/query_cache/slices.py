"""One slice: pgbench against one scratch pgpool, and by how much the counters of its cache grew meanwhile."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from apps.benchmarks.domain.cache_calibration import Plan, Slice
from apps.benchmarks.domain.pgbench_failure import parse_failure
from apps.benchmarks.domain.pgbench_output import parse_result
from apps.benchmarks.domain.printed import UnreadableOutputError
from apps.benchmarks.domain.scratch_conf import LOOPBACK, MEMCACHED
from apps.benchmarks.drivers.query_cache.scratch import ScratchPgpool

_GRACE_S = 10


class SliceFailed(RuntimeError):
    """pgbench did not measure. The text says why, and what mends it."""


@dataclass
class Slices:
    """environment: how pgbench signs in. is_stopped: set once no further slice is wanted."""

    plan: Plan
    pgbench: str
    script: Path
    environment: dict[str, str]
    username: str
    database: str
    is_stopped: bool = False
    _running: subprocess.Popen[str] | None = field(default=None, repr=False)

    def stop(self) -> None:
        self.is_stopped = True
        if self._running is not None:
            self._running.terminate()

    def measure(self, pgpool: ScratchPgpool, level: int, *, seconds: int | None = None) -> Slice:
        """level: of a thousand. Raises SliceFailed."""
        before = pgpool.show_cache()
        output = self._run(pgpool, level, seconds or self.plan.slice_s)
        after = pgpool.show_cache()
        try:
            report = parse_result(output)
        except UnreadableOutputError as error:
            raise SliceFailed(f"what pgbench printed of {pgpool.name} cannot be read. {error}") from error
        if report.tps is None or after.hit_count < before.hit_count or after.miss_count < before.miss_count:
            raise SliceFailed(f"the counters of {pgpool.name} fell: it was started anew meanwhile.")
        return Slice(
            pgpool.scratch.storage, report.tps, report.transactions, report.latency_ms,
            after.hit_count - before.hit_count, after.miss_count - before.miss_count,
        )  # fmt: skip

    def _run(self, pgpool: ScratchPgpool, level: int, seconds: int) -> str:
        words = [
            self.pgbench, f"--host={LOOPBACK}", f"--port={pgpool.scratch.port}", f"--username={self.username}",
            "--no-vacuum", "--protocol=simple", f"--file={self.script}", f"--define=level={level}",
            f"--define=hot_keys={self.plan.hot_keys}", f"--define=key_space={self.plan.key_space}",
            f"--client={self.plan.clients}", f"--jobs={min(self.plan.clients, 4)}", f"--time={seconds}", self.database,
        ]  # fmt: skip
        self._running = subprocess.Popen(
            words, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, errors="replace",
        )  # fmt: skip
        try:
            output, _ = self._running.communicate(timeout=seconds + _GRACE_S)
        except subprocess.TimeoutExpired as error:
            self._running.kill()
            waits = ": its memcached may be frozen" if pgpool.scratch.storage == MEMCACHED else ""
            silent = f"pgbench at {pgpool.name} did not end within {_GRACE_S} s after its time"
            raise SliceFailed(f"{silent}{waits}.") from error
        code = self._running.returncode
        if code and not self.is_stopped:
            failure = parse_failure(output, exit_status=code)
            raise SliceFailed(f"{failure.reason} {failure.fix} It printed: {failure.printed or output[-300:]}".strip())
        return output
