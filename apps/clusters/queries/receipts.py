"""Receipts: what a rollout did to each pgpool, and each value as it was read back. Secrets were masked when stored."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypedDict

from apps.clusters.domain.verification import TruthState
from apps.clusters.models import Rollout, RolloutStep


class ReceiptValue(TypedDict):
    """One parameter read back. seen: as each session showed it, null where the session did not know the name.

    state: live, pending_restart, rejected, ignored, mixed, or hidden for a secret, which pgpool never shows.
    """

    parameter: str
    wanted: str
    seen: list[str | None]
    state: str
    state_text: str


class Receipt(TypedDict):
    """One pgpool in one rollout. sha256: of its pgpool.conf, in hex; null for what did not happen.

    values: read back from the new file; restored_values: from the old one, where that was put back.
    """

    instance: str
    state: str
    error: str
    requested_by: str
    requested_at: datetime
    delivery: str
    dry_run: str
    sha256_before: str | None
    sha256_after: str | None
    backup: str | None
    written_at: datetime | None
    reload_channel: str
    reload_note: str
    reloaded_at: datetime | None
    verified_at: datetime | None
    restored_at: datetime | None
    sessions: int
    values: list[ReceiptValue]
    restored_values: list[ReceiptValue]


class ReceiptsAnswer(TypedDict):
    rollout: int
    cluster: str
    revision: int
    note: str
    state: str
    finished_at: datetime | None
    receipts: list[Receipt]


_TRUTHS: Mapping[str, str] = {
    TruthState.LIVE: "in use",
    TruthState.PENDING_RESTART: "waits for a restart",
    TruthState.REJECTED: "rejected: it keeps another value",
    TruthState.IGNORED: "ignored: this version does not know the name",
    TruthState.MIXED: "mixed: its children do not agree",
    TruthState.HIDDEN: "hidden: pgpool never shows it",
}


def receipts_answer(*, rollout: Rollout) -> ReceiptsAnswer:
    return {
        "rollout": rollout.pk,
        "cluster": rollout.cluster.slug,
        "revision": rollout.revision.number,
        "note": rollout.revision.note,
        "state": rollout.state,
        "finished_at": rollout.finished_at,
        "receipts": [_receipt(rollout, step) for step in rollout.steps.order_by("position")],
    }


def _receipt(rollout: Rollout, step: RolloutStep) -> Receipt:
    facts: Mapping[str, Any] = step.receipt
    read, reload = facts.get("read_back") or {}, facts.get("reload") or {}
    return {
        "instance": step.instance_name,
        "state": step.state,
        "error": step.error,
        "requested_by": rollout.requested_by_name,
        "requested_at": rollout.created_at,
        "delivery": facts.get("delivery", ""),
        "dry_run": facts.get("dry_run", ""),
        "sha256_before": facts.get("sha256_before") or facts.get("base_sha256"),
        "sha256_after": facts.get("sha256_after"),
        "backup": facts.get("backup"),
        "written_at": step.written_at,
        "reload_channel": reload.get("channel", ""),
        "reload_note": reload.get("note", ""),
        "reloaded_at": step.reloaded_at,
        "verified_at": step.verified_at,
        "restored_at": step.restored_at,
        "sessions": read.get("sessions", 0),
        "values": _values(read),
        "restored_values": _values(facts.get("restored_read_back") or {}),
    }


def _values(read: Mapping[str, Any]) -> list[ReceiptValue]:
    parameters: Sequence[Mapping[str, Any]] = read.get("parameters", [])
    return [
        {
            "parameter": one["name"],
            "wanted": one["wanted"],
            "seen": list(one["seen"]),
            "state": one["state"],
            "state_text": _TRUTHS.get(one["state"], one["state"]),
        }
        for one in parameters
    ]
