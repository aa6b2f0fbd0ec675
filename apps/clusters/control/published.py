"""Delivery by hand: the file is published here, whoever fetches it applies it, and pgpool is asked whether it did."""

from __future__ import annotations

import math
import time
from datetime import timedelta
from pathlib import PurePath

from django.db.models.functions import Now

from apps.clusters.domain.not_yet import NotYet
from apps.clusters.models import PgpoolInstance, PublishedFile, RolloutStep
from apps.clusters.outside.delivery import DryRun, FileChanged, FileUnreadable, LiveFile, ReloadReceipt, WriteFailed
from apps.clusters.outside.delivery.dry_run import find_pgpool, parse_with_pgpool
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


class PublishedDelivery:
    """A delivery whose "live file" is the published one: what really stands on the host, nobody here can see."""

    def __init__(self, instance: PgpoolInstance) -> None:
        self._instance = instance

    def read(self) -> LiveFile:
        """Raises FileUnreadable."""
        return LiveFile(text=(found := self._published()).text, sha256=found.sha256, mode="", owner="")

    def dry_run(self, text: str) -> DryRun:
        """Raises DryRunRejected with the words of the pgpool program beside the worker, if there is one."""
        return parse_with_pgpool(text, program=find_pgpool())

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
