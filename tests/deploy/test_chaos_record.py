"""What the crash campaign calls wrong about a receipt, and what it keeps of itself on disk."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from deploy.chaos import aftermath, record
from deploy.chaos.campaign import Round

LIVE = "ab" * 32
VERIFIED: Mapping[str, Any] = {
    "base_sha256": "00" * 32,
    "sha256_before": "00" * 32,
    "sha256_after": LIVE,
    "reload": {"channel": "pcp"},
    "read_back": {"sessions": 3},
}
RESTORED: Mapping[str, Any] = {
    "base_sha256": "00" * 32,
    "restore": {"sha256_before": "cd" * 32, "sha256_after": LIVE},
    "restored_read_back": {"sessions": 3},
}


def _step(state: str, receipt: Mapping[str, Any], *, is_touched: bool = True) -> dict[str, Any]:
    return {"state": state, "receipt": receipt, "is_touched": is_touched, "sha256": LIVE, "base_sha256": "00" * 32}


@pytest.mark.parametrize(("state", "receipt"), [("verified", VERIFIED), ("restored", RESTORED)])
def test_a_whole_receipt_of_the_file_that_stands_there_is_right(state: str, receipt: Mapping[str, Any]) -> None:
    assert aftermath.receipt_fault(_step(state, receipt), live_sha256=LIVE) == ""


@pytest.mark.parametrize("name", list(VERIFIED))
def test_whatever_a_receipt_lacks_is_told(name: str) -> None:
    receipt = {known: value for known, value in VERIFIED.items() if known != name}

    assert aftermath.receipt_fault(_step("verified", receipt), live_sha256=LIVE) == f"its receipt lacks {name}"


def test_the_way_back_needs_the_hash_of_what_it_wrote() -> None:
    receipt = {**RESTORED, "restore": {"sha256_before": "cd" * 32}}

    assert aftermath.receipt_fault(_step("restored", receipt), live_sha256=LIVE) == "its receipt lacks sha256_after"


def test_a_receipt_of_another_file_than_the_one_that_stands_there_is_wrong() -> None:
    fault = aftermath.receipt_fault(_step("verified", VERIFIED), live_sha256="ef" * 32)

    assert fault == "its receipt names the file abababababab, and efefefefefef stands there"


def test_a_touched_step_must_have_ended() -> None:
    assert aftermath.receipt_fault(_step("written", VERIFIED), live_sha256=LIVE) == "it was touched and is written"
    assert aftermath.receipt_fault(_step("skipped", {}, is_touched=False), live_sha256=LIVE) == ""


def test_a_campaign_is_carried_on_from_its_record(tmp_path: Path) -> None:
    path = tmp_path / "rollouts.jsonl"
    rounds = [
        Round(1, "worker", "3 of 3 processes", 0.25, "verified", 1.5),
        Round(2, "beat", "1 of 1 processes", 0.5, "rolled_back", 2.5, faults=("pgpool-1 does not answer",)),
    ]

    assert record.read(path) == []
    for each in rounds:
        record.add(path, each)
    assert record.read(path) == rounds


def test_another_file_is_no_record(tmp_path: Path) -> None:
    path = tmp_path / "rollouts.jsonl"
    path.write_text('{"number": 1}\n')

    with pytest.raises(ValueError, match="is no record of a campaign"):
        record.read(path)
