"""What the page of one run shows beside the answer of REST."""

from __future__ import annotations

from datetime import datetime
from typing import TypedDict

from apps.accounts.access import Caller
from apps.accounts.roles import Role
from apps.benchmarks.domain import environment_words, run_steps
from apps.benchmarks.models import BenchmarkRun
from apps.benchmarks.queries.run_course import CoursePoint, course_answer
from apps.benchmarks.queries.runs import OutputAnswer, RunAnswer, comparisons_of, outputs_of, run_answer
from apps.clusters.queries.weight_words import backend_names

# (metric, what it asks, what it shows) of what the cluster did beside a run.
CHARTS = (
    ("read_shares", "Where did the reads go?", "Share of reads per backend"),
    ("replay_lag_s", "Did standbys fall behind?", "Replay lag, s"),
    ("wal_bytes_per_s", "How much was written?", "WAL, MiB per second"),
    ("cache_hit_share", "Did the query cache answer?", "Hit ratio of the query caches"),
)


class RunPage(TypedDict):
    """points: how many seconds there are. charts: those of CHARTS that have values. mean: the newest running mean.

    log_tail: as of RunDetailAnswer.
    """

    run: RunAnswer
    comparisons: list[int]
    steps: list[run_steps.Step]
    ends_at: datetime | None
    points: int
    mean: CoursePoint | None
    step_s: int
    facts: list[tuple[str, str]]
    charts: list[tuple[str, str, str]]
    machines: list[environment_words.Machine]
    reads: list[environment_words.Reads]
    written_bytes: int | None
    hit_ratio: float | None
    log_tail: str
    outputs: list[OutputAnswer]
    may_operate: bool


def run_page(*, run: BenchmarkRun, caller: Caller) -> RunPage:
    answer, course = run_answer(run=run, caller=caller), course_answer(run=run)
    points, environment = course["points"], run.environment
    told = {line["metric"] for line in course["beside"]}
    has_begun = run.state == BenchmarkRun.State.RUNNING
    return {
        "run": answer,
        "comparisons": comparisons_of(run),
        "steps": run_steps.steps(
            state=run.state,
            phase=run.phase,
            duration_s=run.duration_s,
            warm_up_s=run.warm_up_s,
            measured_s=answer["measured_s"],
            has_begun=has_begun,
        )
        if answer["is_active"]
        else [],
        "ends_at": run_steps.ends_at(measured_at=run.measured_at, duration_s=run.duration_s) if has_begun else None,
        "points": len(points),
        "mean": points[-1] if points and points[-1]["low_tps"] is not None else None,
        "step_s": course["step_s"],
        "facts": environment_words.facts(environment),
        "charts": [(metric, title, label) for metric, title, label in CHARTS if metric in told],
        "machines": environment_words.machines(environment),
        "reads": environment_words.reads(environment, backend_names(cluster=run.cluster)),
        "written_bytes": environment_words.written_bytes(environment),
        "hit_ratio": environment_words.hit_ratio(environment),
        "log_tail": run.log_tail,
        "outputs": outputs_of(run),
        "may_operate": caller.may(Role.OPERATOR),
    }
