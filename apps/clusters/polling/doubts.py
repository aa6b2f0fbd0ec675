"""What several sessions of a pgpool show of its differences: asked where one is new, and now and then again.

pgpool counts these sessions like those of clients, and the verdict cannot tell them apart: there must be few.
"""

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from apps.clusters.control.verified_files import VerifiedFile, as_first_found
from apps.clusters.domain import drift, drift_words
from apps.clusters.domain.drift import Difference, DriftKind
from apps.clusters.domain.parameters import catalogue
from apps.clusters.models import InstanceConfig, PgpoolInstance
from apps.clusters.outside.delivery import LiveFile
from apps.clusters.polling import shown_apart
from apps.clusters.polling.running_values import RUNNING_IS_OLD
from apps.clusters.polling.shown_apart import Shown

logger = logging.getLogger(__name__)

# At three sessions each, these are by themselves too few for a verdict in its window of five minutes.
ASKED_AGAIN_EVERY = timedelta(minutes=10)
DISAGREEING_ASKED_EVERY = timedelta(minutes=3)
# Children take an edit in within a moment, so that is seen at once.
NEWLY_EDITED_FOR = timedelta(minutes=2)


def shown_by_sessions(
    configs: Sequence[InstanceConfig],
    found: Mapping[int, LiveFile | str],
    verified: Mapping[int, VerifiedFile],
    *,
    now: datetime,
) -> dict[int, Shown | None]:
    """Instance id -> what its sessions show of what is in doubt; None where nobody answered.

    A pgpool is not asked where nothing is in doubt, and where all is as at the look before: what disagreed then is told
    again.
    """
    asked: list[tuple[PgpoolInstance, set[str]]] = []
    known: dict[int, Shown | None] = {}
    for config in configs:
        file = found[config.pk]
        running = running_of(config, now)
        if isinstance(file, str) or not running:
            continue
        disagreed = _disagreed(config)
        try:
            differences = _differences(config, file, verified.get(config.pk), running, disagreed)
        except Exception:
            logger.exception("a file could not be compared: instance=%s", config.pk)
            continue
        if _stands(config, file, differences, now=now):
            known[config.pk] = disagreed
        elif names := _in_doubt(config, differences) & running.keys():
            asked.append((config.instance, names))
    answers = shown_apart.shown_apart(asked)
    return {**known, **{instance.pk: answers.get(instance.pk) for instance, _ in asked}}


def running_of(config: InstanceConfig, now: datetime) -> Mapping[str, str]:
    """Empty where it was shown too long ago."""
    is_new = config.running_at is not None and now - config.running_at < RUNNING_IS_OLD
    return config.running if is_new else {}


def _differences(
    config: InstanceConfig, file: LiveFile, verified: VerifiedFile | None, running: Mapping[str, str], disagreed: Shown
) -> tuple[Difference, ...]:
    """By the one child that polling asks, and by what disagreed before."""
    base = verified or as_first_found(config.pk, config.first_text or file.text)
    known = catalogue.for_version(config.instance.version)
    return drift.compare(verified=base.text, file=file.text, running=running, catalogue=known, shown=disagreed)


def _in_doubt(config: InstanceConfig, differences: Sequence[Difference]) -> set[str]:
    """What differs, or did at the look before: other children may use another value than that one."""
    before = {one["parameter"] for one in drift_words.drifted(config.differences)}
    return before | {one.parameter for one in differences if one.is_drift}


def _disagreed(config: InstanceConfig) -> Shown:
    """What the sessions showed that were asked latest, where they did not agree."""
    mixed = [one for one in config.differences if one["kind"] == DriftKind.MIXED]
    return {one["parameter"]: (one["running"] or "").split(drift.APART) for one in mixed}


def _stands(config: InstanceConfig, file: LiveFile, differences: Sequence[Difference], *, now: datetime) -> bool:
    """Whether the answer of an earlier look counts on. One that nobody gave is stored otherwise than any here."""
    if config.since is None or config.looked_at is None or config.file_sha256 != file.sha256:
        return False
    if [drift_words.as_stored(one) for one in differences] != config.differences:
        return False
    began = max(config.since, config.file_since or config.since)
    is_mixed = bool(_disagreed(config))
    if is_mixed and now - began < NEWLY_EDITED_FOR:
        return False
    every = DISAGREEING_ASKED_EVERY if is_mixed else ASKED_AGAIN_EVERY
    return (now - began) // every == (config.looked_at - began) // every
