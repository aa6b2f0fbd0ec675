"""Pub/sub messaging against the lab's primary: a rate that is held, the most there is, and what backing off saves.

The most is measured by turns with pgbench, which runs the same statements from as many sessions.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apps.benchmarks.domain import own_program, pubsub_plan
from apps.benchmarks.domain.comparison import compare
from apps.benchmarks.domain.pgbench_output import parse_result
from apps.benchmarks.domain.pubsub_plan import Plan
from deploy.bench import pubsub_scripts
from deploy.bench.cpu_time import cpu_s
from deploy.bench.rollouts import verdict
from deploy.bench.subject import CannotMeasure
from deploy.lab import Lab
from deploy.lab import processes as lab_processes

IN_PER_S, OUT_PER_S, HELD_SHARE = 5_000, 25_000, 0.97
# Of what pgbench publishes.
LEAST_SHARE = 0.7
# Readers that find full batches, and readers that ask so soon that they find half of one or less: each transaction then
# moves less, and whose readers are quicker has more of them.
PATIENT_MS, HASTY_MS = 100, 10
# Readers that ask often and find little: what backing off is for.
QUIET = {"throttle_per_s": 50, "poll_interval_ms": 5}
ENDS_WITHIN_S = 120.0
PROGRAM = [sys.executable, "-m", "apps.benchmarks.drivers.pubsub"]


@dataclass(frozen=True)
class Moved:
    """Messages per second: published, and received by all groups."""

    in_per_s: float
    out_per_s: float

    @property
    def sum_per_s(self) -> float:
        return self.in_per_s + self.out_per_s


def measure(lab: Lab, *, pairs: int, seconds: int) -> None:
    """pairs: of turns of this many seconds each."""
    print(f"  {os.cpu_count()} cores, load before {_load()}", flush=True)
    _told(lab, ["prepare"])
    try:
        _held(lab, runs=max(1, pairs // 2), seconds=seconds)
        _most(lab, pairs=pairs, seconds=seconds, poll_interval_ms=PATIENT_MS)
        _most(lab, pairs=max(2, pairs // 2), seconds=seconds, poll_interval_ms=HASTY_MS)
        _quiet(lab, seconds=seconds)
    finally:
        _told(lab, ["drop"])
    print(f"  load after {_load()}", flush=True)


def _held(lab: Lab, *, runs: int, seconds: int) -> None:
    found = [_load_of(lab, seconds, throttle_per_s=IN_PER_S, poll_interval_ms=20) for _ in range(runs)]
    published, consumed = ([own[key] for own in found] for key in ("published_per_s", "consumed_per_s"))
    is_held = all(
        own["published_per_s"] >= HELD_SHARE * IN_PER_S
        and own["consumed_per_s"] >= HELD_SHARE * OUT_PER_S
        and own["is_complete"]
        and _finding(own, "throttle_held")
        for own in found
    )
    wanted = f"{IN_PER_S:,} messages/s in and {OUT_PER_S:,} out to 5 groups"
    print(f"  {wanted}, {runs} runs of {seconds} s, {found[0]['processes']} processes: {verdict(is_held)}")
    print(f"    in {_spread(published)}, out {_spread(consumed)}, every message once: {_all(found, 'is_complete')}")
    for key, name in (("end_to_end_ms", "end to end"), ("publish_ms", "publishing, from when it was due")):
        p50, p99 = (statistics.median(own[key][percentile] for own in found) for percentile in ("p50", "p99"))
        print(f"    {name}: p50 {p50:.1f} ms, p99 {p99:.1f} ms (medians)")
    cpu = statistics.median(own["cpu_s"] / own["window_s"] for own in found)
    wal = statistics.median(own["wal_per_payload"] for own in found)
    print(f"    CPU of the load {cpu:.2f} cores; WAL {wal:.2f} bytes per byte of payload", flush=True)


def _most(lab: Lab, *, pairs: int, seconds: int, poll_interval_ms: int) -> None:
    """What was moved, in and out together: who writes more and reads less of it has done no more."""
    plan = pubsub_plan.plan({"poll_interval_ms": poll_interval_ms}, duration_s=seconds)
    ours: list[Moved] = []
    theirs: list[Moved] = []
    for number in range(pairs):
        for is_ours in (True, False) if number % 2 else (False, True):
            if is_ours:
                own = _load_of(lab, seconds, poll_interval_ms=poll_interval_ms)
                ours.append(Moved(own["published_per_s"], own["consumed_per_s"]))
            else:
                theirs.append(_by_pgbench(lab, plan))
    found = compare(
        baseline=[one.sum_per_s for one in theirs], candidate=[one.sum_per_s for one in ours], run_s=seconds
    )
    share, low, high = (1 + percent / 100 for percent in (found.difference_percent, found.low, found.high))
    print(f"  unthrottled, readers that find no full batch wait {poll_interval_ms} ms, {pairs} pairs of {seconds} s,")
    print("  order turned each time; messages/s, medians and ranges")
    for name, moved in (("this load", ours), ("pgbench", theirs)):
        in_per_s, out_per_s = _spread([one.in_per_s for one in moved]), _spread([one.out_per_s for one in moved])
        print(f"    {name}: in {in_per_s}, out {out_per_s}, together {_spread([one.sum_per_s for one in moved])}")
    print(
        f"    together {share:.2f} x pgbench, 95 % interval {low:.2f} to {high:.2f}; wanted are {LEAST_SHARE} x: ",
        end="",
    )
    print(verdict(share >= LEAST_SHARE), flush=True)


def _quiet(lab: Lab, *, seconds: int) -> None:
    """CPU of the primary and of the load, and transactions, with readers that ask plainly and that back off."""
    for name, options in (("plainly", QUIET), ("backing off", {**QUIET, "back_off": True})):
        before = _primary_cpu_s(lab)
        own = _load_of(lab, seconds, **options)
        taken = _primary_cpu_s(lab) - before
        polls = own["polls"]
        saved = f", {polls['saved_share']:.0%} saved by its own count" if polls["saved_share"] else ""
        print(
            f"  {QUIET['throttle_per_s']} messages/s, 20 readers asking {name}: {polls['polls_per_s']:,.0f} polls/s, "
            f"{polls['empty_per_s']:,.0f} empty{saved}; CPU {own['cpu_s']:.2f} s of the load, {taken:.2f} s of the "
            f"primary; end to end p50 {own['end_to_end_ms']['p50']:.1f} ms, p99 {own['end_to_end_ms']['p99']:.1f} ms",
            flush=True,
        )


def _load_of(lab: Lab, seconds: int, **options: Any) -> dict[str, Any]:
    """Figures of one run."""
    words = ["load", f"--duration-s={seconds}"]
    for name, value in options.items():
        option = f"--{name.replace('_', '-')}"
        words += [option] if value is True else [f"{option}={value}"]
    report: dict[str, Any] = json.loads(_told(lab, words).splitlines()[-1])["report"]
    own: dict[str, Any] = report["own"]
    if not own["is_exactly_once"]:
        raise CannotMeasure(f"messages are not accounted for: {own['findings']}")
    return own


def _told(lab: Lab, words: list[str]) -> str:
    said = subprocess.run(
        [*PROGRAM, *words], env=_environment(lab), capture_output=True, text=True, timeout=ENDS_WITHIN_S, check=False
    )
    if said.returncode:
        raise CannotMeasure(own_program.parse_failure(said.stdout) or said.stderr)
    return said.stdout


def _by_pgbench(lab: Lab, plan: Plan) -> Moved:
    """Writers and readers are a pgbench each, at the same time."""
    _told(lab, ["prepare"])
    readers = plan.groups * plan.readers_per_group
    with tempfile.TemporaryDirectory() as folder:
        writing = _pgbench(lab, plan, plan.writers, Path(folder) / "write.sql", pubsub_scripts.writer(plan))
        reading = _pgbench(lab, plan, readers, Path(folder) / "read.sql", pubsub_scripts.reader(plan))
        wrote, _ = (_ended(one) for one in (writing, reading))
    tps = parse_result(wrote).tps
    if tps is None:
        raise CannotMeasure(f"pgbench printed no rate: {wrote}")
    return Moved(tps * plan.write_batch, _received(lab) / plan.duration_s)


def _pgbench(lab: Lab, plan: Plan, clients: int, path: Path, script: str) -> subprocess.Popen[str]:
    path.write_text(script, encoding="utf-8")
    words = [
        lab.binaries.postgres("pgbench"), "--no-vacuum", "--protocol=prepared", f"--client={clients}", "--jobs=1",
        f"--time={plan.duration_s}", f"--file={path}",
    ]  # fmt: skip
    words += [word for name, value in pubsub_scripts.variables(plan).items() for word in ("-D", f"{name}={value}")]
    pipe = subprocess.PIPE
    return subprocess.Popen(words, env=_environment(lab), stdout=pipe, stderr=subprocess.STDOUT, text=True)


def _ended(running: subprocess.Popen[str]) -> str:
    said, _ = running.communicate(timeout=ENDS_WITHIN_S)
    if running.returncode:
        raise CannotMeasure(f"pgbench: {said[-500:]}")
    return said


def _received(lab: Lab) -> int:
    """Messages, by all groups, since the tables were made."""
    statement = "SELECT sum(next_offset - 1)::bigint FROM lifeguard_pubsub_positions"
    with lab.backends.connect(lab.backends.primary, lab.addresses["app"]["database"]) as session:
        row = session.execute(statement).fetchone()
    if row is None or row[0] is None:
        raise CannotMeasure("the tables of the load are empty")
    return int(row[0])


def _environment(lab: Lab) -> Mapping[str, str]:
    app, primary = lab.addresses["app"], lab.backends.primary
    return {
        **os.environ, "PGHOST": primary.host, "PGPORT": str(primary.port), "PGUSER": app["username"],
        "PGPASSWORD": app["password"], "PGDATABASE": app["database"], "PGSSLMODE": "disable", "LC_ALL": "C.UTF-8",
    }  # fmt: skip


def _primary_cpu_s(lab: Lab) -> float:
    folder = Path(lab.addresses["data"]) / lab.backends.primary.name
    time.sleep(0.5)  # sessions that were closed end, and what they had passes to their parent
    return sum(cpu_s(one.pid) for one in lab_processes.members(folder, lab.account))


def _finding(own: Mapping[str, Any], check: str) -> bool:
    return all(one["ok"] for one in own["findings"] if one["check"] == check)


def _all(found: list[dict[str, Any]], key: str) -> str:
    return "yes" if all(own[key] for own in found) else "NO"


def _spread(values: list[float]) -> str:
    return f"{statistics.median(values):,.0f} ({min(values):,.0f} to {max(values):,.0f})"


def _load() -> str:
    return " ".join(f"{value:.1f}" for value in os.getloadavg())
