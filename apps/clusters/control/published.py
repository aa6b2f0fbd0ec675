"""Delivery by hand: the file is published here, whoever fetches it applies it, and pgpool is asked whether it did."""

from __future__ import annotations

import math
import time
from datetime import timedelta
from pathlib import PurePath

from django.db.models.functions import Now

from apps.clusters.domain import pgpool_conf
from apps.clusters.domain.file_check import Surroundings, check_file
from apps.clusters.domain.findings import Severity
from apps.clusters.domain.not_yet import NotYet
from apps.clusters.domain.parameters import catalogue
from apps.clusters.models import PgpoolInstance, PublishedFile, RolloutStep
from apps.clusters.outside.delivery import (
    DryRun,
    DryRunRejected,
    FileChanged,
    FileUnreadable,
    LiveFile,
    ReloadReceipt,
    WriteFailed,
)
from apps.clusters.outside.delivery.dry_run import find_pgpool, parse_with_pgpool, version_of
from apps.clusters.outside.delivery.outcomes import sha256_of
from apps.clusters.outside.pcp import PcpAddress

# How often a pgpool is asked whether somebody has applied its file.
APPLIED_EVERY_S = 5.0


def is_published(instance: PgpoolInstance | None) -> bool:
    return instance is not None and instance.delivery_kind == PgpoolInstance.Delivery.MANUAL


def not_applied(step: RolloutStep, seen: str) -> NotYet:
    """Why a step waits whose file others have to apply. seen: what its pgpool does instead, as when another was."""
    reason = (
        f"The file {step.file.sha256[:12]} is published for {step.instance_name}; it is asked every "
        f"{APPLIED_EVERY_S:.0f} s until the file was applied there and reloaded. Seen latest: {seen}"
    )
    hours = step.instance.longest_wait_h if step.instance is not None else 0
    return NotYet(reason, retry_s=APPLIED_EVERY_S, longest=timedelta(hours=hours))


def while_stopped(waiting: NotYet, stopped: str) -> NotYet:
    """The same wait while all writes are stopped: nobody is given the file. stopped: by whom, in a sentence."""
    reason = f"{waiting.reason} {stopped} Nobody is given the file until they are allowed again"
    if waiting.longest is None:
        return NotYet(f"{reason}.", retry_s=waiting.retry_s)
    hours = waiting.longest.total_seconds() / 3600
    return NotYet(f"{reason}; the time for it, {hours:.3g} h, begins anew then.", retry_s=waiting.retry_s)


def parsed_elsewhere(instance: PgpoolInstance) -> str:
    """How far it counts that pgpool reads a new file beforehand, where that is not the pgpool of its host; else ""."""
    if not is_published(instance):
        return ""
    if not instance.version:
        stops = f"The version of {instance.name} is not known yet, so all that it refuses stops the rollout."
    else:
        stops = (
            f"{instance.name} runs {instance.version}: where that is another version, what it refuses by its own "
            "alone does not stop the rollout."
        )
    return f"Delivered by hand: the pgpool beside the worker, if there is one, parses the file beforehand. {stops}"


class PublishedDelivery:
    """A delivery whose "live file" is the published one: what really stands on the host, nobody here can see."""

    def __init__(self, instance: PgpoolInstance) -> None:
        self._instance = instance

    def read(self) -> LiveFile:
        """Raises FileUnreadable."""
        return LiveFile(text=(found := self._published()).text, sha256=found.sha256, mode="", owner="")

    def dry_run(self, text: str) -> DryRun:
        """Raises DryRunRejected with the words of the pgpool program beside the worker, if there is one.

        That one may be of another version than the pgpool of the host. What it refuses counts then only if something
        is wrong with the file by what is known of the host's version.
        """
        program = find_pgpool()
        try:
            return parse_with_pgpool(text, program=program)
        except DryRunRejected as refused:
            own, its = self._instance.version, version_of(program or "")
            if not own or not its or catalogue.is_same_release(own, its) or _has_errors(text, own):
                raise
            note = (
                f"the pgpool beside the worker is {its} and refuses the file ({refused.message}); nothing is wrong "
                f"with it for {own}, which {self._instance.name} runs"
            )
            return DryRun(is_available=True, note=note)

    def write(self, text: str, *, expected_sha256: str, rollout_tag: str, not_after: float = math.inf) -> None:
        """Publish. Raises FileChanged, FileUnreadable or WriteFailed; what is published stays as it is then."""
        if time.monotonic() >= not_after:
            raise WriteFailed(f"nothing was published for {self._instance.name}: this worker was held up for too long")
        found = self._published()
        own = PublishedFile.objects.filter(pk=found.pk, sha256=expected_sha256)
        if own.update(text=text, sha256=sha256_of(text.encode()), published_at=Now()) != 1:
            raise FileChanged(PurePath(f"{self._instance.name}/pgpool.conf"), expected_sha256, found.sha256)

    def reload(self, *, pcp: PcpAddress | None, deadline_s: float) -> ReloadReceipt:
        """Nothing is sent: a reload before the file stands there would prove nothing."""
        return ReloadReceipt("by hand", "published; whoever fetches it applies it and reloads")

    def _published(self) -> PublishedFile:
        found = PublishedFile.objects.filter(instance=self._instance).first()
        if found is None:
            raise FileUnreadable(f"no pgpool.conf was given for {self._instance.name}: save its delivery again")
        return found


def _has_errors(text: str, version: str) -> bool:
    """By what is known of this version of pgpool."""
    try:
        node_ids = pgpool_conf.parse(text).backend_node_ids()
    except (pgpool_conf.ConfigSyntaxError, pgpool_conf.IncludeUnsupported):
        return True
    found = check_file(text, Surroundings(catalogue.for_version(version), node_ids))
    return any(finding.severity is Severity.ERROR for finding in found)
