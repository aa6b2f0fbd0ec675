"""Carries out one attempt of a run: its data, its warm-up, its measurement, its figures.

Whatever ends it early leaves a row that says so. Programs end with the worker; another worker settles the row then.
"""

from __future__ import annotations

import logging
import shlex
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from apps.benchmarks.control import (
    run_configuration,
    run_endpoint,
    run_environment,
    run_folder,
    run_replication,
    run_rows,
)
from apps.benchmarks.control.cluster_course import ClusterCourse
from apps.benchmarks.control.run_counters import RunCounters
from apps.benchmarks.control.run_rows import LeaseLost
from apps.benchmarks.domain import replication_words, run_findings, run_result, run_wish
from apps.benchmarks.domain.failed_share import FailedShare
from apps.benchmarks.domain.printed import UnreadableOutputError
from apps.benchmarks.domain.raw_output import LogTail, storable
from apps.benchmarks.domain.run_findings import RunFinding
from apps.benchmarks.domain.run_result import Part, RunResult, Seconds
from apps.benchmarks.domain.run_wish import Wish, WishRefused
from apps.benchmarks.domain.workloads import RESEED
from apps.benchmarks.drivers import database, half_made, known
from apps.benchmarks.drivers.driver import Account, CannotPrepare, ProgramMissing, with_options
from apps.benchmarks.drivers.processes import Command, Line, NotStarted, Process, Processes
from apps.benchmarks.models import BenchmarkAccess, BenchmarkRun
from apps.benchmarks.queries import targets

logger = logging.getLogger(__name__)

# Past its time a program is ended: some wait for ever for a session that nobody gives it.
GRACE_S = 30.0
LOOKS_EVERY_S = 1.0
PREPARES_WITHIN_S = 4 * 3600.0
REPLAYS_WITHIN_S = 600.0
State = BenchmarkRun.State


class RunFailed(RuntimeError):
    """The run came to nothing. The text says why, and what mends it."""


class RunStopped(RuntimeError):
    """Somebody, or a guard, has ended it. The text says who and why."""


def carry_out(*, run_id: int, holder: str, clock: Callable[[], datetime]) -> None:
    """Do what is to be done about a run now; nothing if it is not its turn."""
    run = run_rows.claim(run_id, holder=holder, now=clock())
    if run is None:
        return
    attempt = _Attempt(run, holder, clock)
    try:
        attempt.go()
    except LeaseLost as error:
        logger.warning("run %s is no longer carried out here: %s", run_id, error)
    except RunStopped as error:
        attempt.end(State.STOPPED, stop_reason=str(error))
    except (RunFailed, CannotPrepare, NotStarted, ProgramMissing, WishRefused, OSError) as error:
        attempt.end(State.FAILED, error=str(error))


def _not_checked(why: str) -> RunFinding:
    return {"check": "data_checked", "ok": False, "sentence": f"Its data was not checked: {why}"}


class _Attempt:
    """One try of one run by the worker that holds its lease."""

    def __init__(self, run: BenchmarkRun, holder: str, clock: Callable[[], datetime]) -> None:
        self.run = run
        self._holder = holder
        self._clock = clock
        self._looked_at = 0.0
        self._seconds = Seconds(processes=0)
        self._failed_share = FailedShare()
        self._given_up: list[RunFinding] = []
        self._course: ClusterCourse | None = None
        self._measures_since = 0.0
        self._has_loaded = False
        self._unseen: list[str] = []

    def go(self) -> None:
        self._account = self._sign_in()
        self._log_tail = LogTail(password=self._account.password)
        self._wish = self._as_wished()
        self._driver = known.driver_of(self._wish.workload)
        self._program = self._driver.find_program()
        with run_folder.folder_of(self.run) as self._folder:
            run_configuration.lay_out(self.run, self._wish, self._folder)
            self._driver.lay_out(self._program, self._wish, self._folder)
            self._prepare()
            if warm_up_s := self.run.warm_up_s:
                self._phase("warms up")
                commands = self._commands(warm_up_s, is_measured=False)
                self._run(commands, within_s=warm_up_s + GRACE_S, kept_as="warm-up")
            parts = self._measure()
        self._keep_result(parts)

    def end(self, state: str, **changes: object) -> None:
        """What was measured until then is kept, and marked as partial."""
        if self._has_loaded:
            run_replication.release(self.run, self._primary, self._account)
        is_partial = self.run.samples.filter(attempt=self.run.attempts).exists()
        if self._course is not None:
            changes["environment"] = {**self.run.environment, "course": self._course.points}
        try:
            run_rows.finish(self.run, self._holder, now=self._clock(), state=state, is_partial=is_partial, **changes)
        except LeaseLost as error:
            logger.warning("the end of run %s was told by another worker: %s", self.run.pk, error)

    def _sign_in(self) -> Account:
        access = BenchmarkAccess.objects.filter(cluster=self.run.cluster, is_on=True).first()
        if access is None:
            raise RunFailed(f"{self.run.cluster} may no longer be put under load: an admin has switched that off.")
        self._access = access
        return Account(access.username, access.password, access.database, self.run.cluster.sslmode)

    def _as_wished(self) -> Wish:
        """Held again against the cluster as it is now. Raises WishRefused."""
        limits = targets.limits_of(self.run.cluster, self._access)
        return run_wish.wish(
            workload=self.run.workload, topology=self.run.topology, clients=self.run.clients, threads=self.run.threads,
            duration_s=self.run.duration_s, warm_up_s=self.run.warm_up_s, parameters=self.run.parameters,
            offered=targets.offered(self.run.cluster), limits=limits,
        )  # fmt: skip

    def _prepare(self) -> None:
        """Its data on the primary, applied by every standby, analysed and written out."""
        offered = targets.offered(self.run.cluster)
        primary = next((one.servers[0] for one in offered if one.key == "primary"), None)
        if primary is None:
            raise RunFailed("No pgpool has named the primary, so nobody knows where the data is to be prepared.")
        self._primary = primary
        reached = run_endpoint.reach(
            self._wish, self._account, cluster=self.run.cluster, primary=primary, watch=self._watch
        )
        asked = (self.run, self._wish, primary, self._account)
        run_replication.refuse_unless_commits_return(*asked, watch=self._watch)
        found = self._driver.look(self._wish, primary, self._account)
        if not found.is_ready or self._wish.parameters.get(RESEED.name):
            self._phase("makes its tables anew")
            self._make_data(found.tables)
        self._phase("analyses its tables and writes them out")
        note = database.settle(primary, self._account, found.tables, watch=self._watch)
        self._notes = [note] if note else []
        self._notes += [*self._driver.notes(self._wish), *reached.notes]
        standbys = [one.servers[0] for one in offered if one.key.startswith("standby:")]
        self._phase("waits until the standbys have applied its data")
        until = time.monotonic() + REPLAYS_WITHIN_S
        applying = [] if reached.leads_to_primary else run_replication.applying(self.run, self._wish, standbys)
        database.await_replay(primary, applying, self._account, watch=self._watch, until=until)
        topology = self._wish.topology
        counting = [*topology.servers] if topology.is_direct else [primary, *applying]
        counting = counting if reached.stays_within else []
        self._counters = RunCounters(self.run, self._wish, self._account, counting)
        cluster = self.run.cluster
        self._unseen = run_endpoint.look_behind(
            self._driver, self._wish, self._account, cluster=cluster, primary=primary
        )
        self._notes += self._unseen
        environment = run_environment.at_start(
            self.run, self._wish, program_version=self._driver.version(self._program),
            server_version=database.version(primary, self._account),
        )  # fmt: skip
        self._keep(environment={**environment, "replication": run_replication.look(*asked)})

    def _make_data(self, tables: Sequence[str]) -> None:
        """Whole, or not at all: half of it would fill the disk for nothing."""
        asked = (self._primary, self._account)
        before = half_made.table_ids(*asked, tables)
        name = f"preparation on {self._primary.full_name}"
        try:
            for command in self._driver.preparation(self._program, self._wish, *asked):
                self._run([replace(command, name=name)], within_s=PREPARES_WITHIN_S, kept_as="preparation")
        except RunStopped as error:
            left = half_made.discard(*asked, tables, but=before)
            raise RunStopped(". ".join(filter(None, [str(error).rstrip("."), left]))) from error
        except RunFailed as error:
            place = half_made.tablespace_words(*asked, str(error))
            left = half_made.discard(*asked, tables, but=before)
            raise RunFailed(" ".join(filter(None, [str(error), place, left]))) from error

    def _measure(self) -> list[Part]:
        commands = self._commands(self.run.duration_s, is_measured=True)
        self._seconds = Seconds(processes=len(commands))
        for number in range(len(commands)):
            (self._folder / str(number)).mkdir()
        self._counters.begin(watch=self._watch)
        self._phase("measures", state=State.RUNNING, measured_at=self._clock())
        self._course = ClusterCourse(self.run.cluster, duration_s=self.run.duration_s)
        self._measures_since = time.monotonic()
        processes = self._run(commands, within_s=self.run.duration_s + GRACE_S, may_be_partial=True)
        self._given_up = [
            run_findings.of_given_up(one.command.name, reason)
            for one in processes
            if one.exit_code and (reason := self._driver.gave_up(one.output, one.exit_code))
        ]
        self._phase("reads its results")
        return [self._part(one, self._folder / str(number)) for number, one in enumerate(processes)]

    def _part(self, process: Process, folder: Path) -> Part:
        try:
            return self._driver.report(self._wish, process.command.name, process.output, folder)
        except UnreadableOutputError as error:
            raise RunFailed(f"{process.command.name}: what it printed cannot be read. {error}") from error

    def _keep_result(self, parts: Sequence[Part]) -> None:
        found = run_result.merge(parts)
        environment = {**self.run.environment, **run_environment.at_end(self.run), "notes": self._notes}
        broken = self._counted(found, environment)
        self._phase("checks its data")
        broken += self._checked_data()
        is_partial = bool(self._given_up) or any(part.report.is_partial for part in parts)
        after = run_replication.look_again(self.run, self._wish, self._primary, self._account)
        environment["replication_after"] = after
        environment["course"] = self._course.points if self._course is not None else []
        findings = run_findings.of_run(
            found, clients=self.run.clients, duration_s=self.run.duration_s, placement=environment["placement"],
            throttle_per_s=self._wish.throttle_per_s, reconnects=self._wish.reconnects,
            is_closed_loop=self._wish.workload.is_closed_loop,
        )  # fmt: skip
        findings += replication_words.findings(
            environment["replication"], after, commit_level=self._wish.topology.commit_level, writes=self._wish.writes
        )
        findings += [*self._given_up, *broken]
        run_rows.finish(
            self.run, self._holder, now=self._clock(), state=State.DONE, tps=found["tps"], result=found,
            environment=environment, findings=findings, is_partial=is_partial,
        )  # fmt: skip

    def _counted(self, found: RunResult, environment: Mapping[str, object]) -> list[RunFinding]:
        try:
            return self._counters.findings(found, environment, watch=self._watch_check)
        except RunStopped:  # what was measured stands all the same, and the next look tells of it
            return []

    def _checked_data(self) -> list[RunFinding]:
        try:
            found = self._driver.check_data(self._wish, self._primary, self._account, watch=self._watch_check)
        except (CannotPrepare, RunStopped) as error:  # what was measured stands all the same
            return [_not_checked(str(error))]
        # Conditions of the primary's tables say nothing of a load that may have changed others.
        return [_not_checked("; ".join(self._unseen))] if found and self._unseen else found

    def _commands(self, duration_s: int, *, is_measured: bool) -> list[Command]:
        found = self._driver.load(
            self._program, self._wish, self._account, duration_s=duration_s, folder=self._folder,
            is_measured=is_measured,
        )  # fmt: skip
        options = self._wish.topology.session_options
        return [replace(one, environment=with_options(one.environment, options)) for one in found]

    def _run(
        self, commands: Sequence[Command], *, within_s: float, kept_as: str = "", may_be_partial: bool = False
    ) -> list[Process]:
        """Programs to their end, watched; their output is kept. kept_as: "" for the name of each.

        may_be_partial: whether one of which some clients gave up counts as well.

        Raises RunFailed, RunStopped, LeaseLost, NotStarted.
        """
        self._has_loaded = True
        self._log_tail.names_processes = len(commands) > 1
        with Processes(commands) as processes:
            try:
                self._attend(processes, until=time.monotonic() + within_s, within_s=within_s)
            finally:
                processes.end()
                self._take(processes.read(within_s=0))
                for one in processes.started:
                    run_rows.keep_output(
                        self.run, name=kept_as or one.command.name, command=shlex.join(one.command.words),
                        output=storable(one.output, password=self._account.password), exit_code=one.exit_code,
                    )  # fmt: skip
        for one in processes.started:
            if one.exit_code and not (may_be_partial and self._driver.gave_up(one.output, one.exit_code)):
                raise RunFailed(f"{one.command.name}: {self._driver.failure(one.output, one.exit_code)}")
        return processes.started

    def _attend(self, processes: Processes, *, until: float, within_s: float) -> None:
        while processes.are_running:
            # With its seconds: a page that is told of them finds the lines that told them.
            self._watch(at_once=self._take(processes.read(within_s=LOOKS_EVERY_S / 4)))
            if time.monotonic() > until:
                usual = "Sessions may wait for a child of pgpool that is not free, or a server hangs."
                why = run_replication.waiting_words(self._primary, self._account) or usual
                raise RunFailed(f"It was ended after {within_s:.0f} s: it was not done within its time. {why}")

    def _take(self, lines: Iterable[Line]) -> bool:
        """Whether there was a whole second among them."""
        for line in lines:
            self._log_tail.add(line.process, line.text)
            if (second := self._driver.second(line.text)) is not None:
                self._seconds.take(line.process, second)
        if found := self._seconds.whole():
            self._failed_share.take(found)
            run_rows.keep_samples(self.run, found)
        return bool(found)

    def _watch(self, *, at_once: bool = False) -> None:
        """Once a second: the lease, and what people and guards want. Raises RunStopped, LeaseLost."""
        if not at_once and time.monotonic() - self._looked_at < LOOKS_EVERY_S:
            return
        self._looked_at = time.monotonic()
        log_tail = self._log_tail.news()
        run_rows.renew(self.run, self._holder, log_tail=log_tail)
        if log_tail is not None:
            run_rows.announce(self.run)
        if self.run.is_stop_requested:
            raise RunStopped(self.run.stop_reason)
        if why := run_rows.why_not_now(self.run.cluster):
            raise RunStopped(f"It was stopped, since figures of two things at once say nothing of either: {why}")
        if self._course is not None:
            self._course.look(at_s=time.monotonic() - self._measures_since)
        self._guard_lag()
        most = self._access.most_failed_share
        if most is not None and (why := self._failed_share.above(most)):
            raise RunStopped(why)

    def _watch_check(self) -> None:
        """As _watch, of what only reads and is of no figure. Raises RunStopped, LeaseLost."""
        if time.monotonic() - self._looked_at < LOOKS_EVERY_S:
            return
        self._looked_at = time.monotonic()
        run_rows.renew(self.run, self._holder)
        if self.run.is_stop_requested:
            raise RunStopped(self.run.stop_reason)

    def _guard_lag(self) -> None:
        most_s = self._access.most_lag_s
        if most_s is not None and (why := run_replication.far_behind(self.run, most_s=most_s)):
            raise RunStopped(why)

    def _phase(self, words: str, **changes: object) -> None:
        self._log_tail.begin(words)
        self._keep(phase=words, log_tail=self._log_tail.text(), **changes)
        run_rows.announce(self.run)

    def _keep(self, **changes: object) -> None:
        run_rows.change(self.run, self._holder, **changes)
