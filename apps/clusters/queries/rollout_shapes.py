"""What is answered about a rollout: by REST, and to its page."""

from datetime import datetime
from typing import Any, Literal, TypedDict

from apps.clusters.control.convergence import Convergence, Finding
from apps.clusters.queries.debts import DebtAnswer
from apps.clusters.queries.rollout_plans import GuardsSaid, PlanAnswer

Weights = dict[str, dict[str, float]]
RolloutStateName = Literal["pending", "running", "paused", "verified", "failed", "rolled_back", "cancelled"]
StepStateName = Literal[
    "pending",
    "written",
    "reloaded",
    "verified",
    "restored",
    "restore_pending",
    "failed",
    "absent",
    "owed",
    "skipped",
]


class StepAnswer(TypedDict):
    """One pgpool of a rollout. receipt: hashes before and after, and the values that were read back.

    is_as_before: the new file is the old one, byte for byte.
    doing: what a worker does there now, empty elsewhere; given_up_at: when it stops trying at the latest, where it is
    time that ends it. waiting_for: what the next action waits for without failing, empty elsewhere.
    pending_text: what waits for a restart of this pgpool. converged: do the reads that it sent since it was verified
    follow; convergence: the evidence, null until it was judged. debt: what a pgpool that could not be reached owes
    since, or owed; null where it owed nothing.
    """

    instance: str
    instance_id: int | None
    az: str
    position: int
    state: StepStateName
    is_current: bool
    doing: str
    given_up_at: datetime | None
    is_touched: bool
    is_as_before: bool
    error: str
    waiting_for: str
    waiting_since: datetime | None
    written_at: datetime | None
    reloaded_at: datetime | None
    verified_at: datetime | None
    restored_at: datetime | None
    read_back_text: str
    converged: bool
    convergence: Finding | None
    reads_text: str
    pending_text: str
    receipt: dict[str, Any]
    debt: DebtAnswer | None


class LogLine(TypedDict):
    at: datetime
    instance: str
    text: str
    is_problem: bool


class Course(TypedDict):
    """Who asked for what, and how far it is. settles: the debt of one pgpool that it is to settle."""

    id: int
    cluster: str
    cluster_name: str
    state: RolloutStateName
    sentence: str
    revision: int
    rollback_of: int | None
    settles: int | None
    note: str
    requested_by: str
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    halt_reason: str
    is_halting: bool
    is_cancel_requested: bool
    touched: int


class Reads(TypedDict):
    parameters: list[str]
    parameters_text: str
    moves_reads: bool
    reads_ended: str
    converged: bool
    converged_at: datetime | None
    convergence: Convergence | None


class Pace(TypedDict):
    plan: PlanAnswer
    plan_text: str
    guards: GuardsSaid
    hold_started_at: datetime | None
    hold_ends_at: datetime | None
    is_last_hold: bool
    paused_at: datetime | None
    paused_by: str
    pause_reason: str


class Ways(TypedDict):
    """What the caller may do about it now. can_redraft: put what it changed into their draft again."""

    can_pause: bool
    can_resume: bool
    can_roll_back: bool
    can_cancel: bool
    can_redraft: bool
    way_back: str


class Weighed(TypedDict):
    weights_before: Weights | None
    weights_after: Weights
    weights_before_text: str
    weights_text: str
    change_text: str
    rollback_text: str
    integers_before_text: str
    integers_text: str


class RolloutAnswer(Course, Reads, Pace, Ways, Weighed):
    """state: is the configuration verified; converged: do the reads follow.

    hold_ends_at: when the pgpools of the next wave follow, null while nothing is held; is_last_hold: only its end
    follows. paused_by: empty for its guards. guards: what no guard looks at, and why.
    parameters: names but weights that it changes or confirms. moves_reads: whether it can be seen in the reads at all.
    reads_ended: why nobody waits for the reads to follow any more, empty while somebody does.
    weights_text, change_text, rollback_text: shares of new sessions; integers_text: backend_weight in pgpool.conf.
    Lists leave out the log and all of before.
    """

    steps: list[StepAnswer]
    log: list[LogLine]
