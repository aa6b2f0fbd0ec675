"""The rollouts of a campaign on disk, so that it can be carried on another time."""

import json
from dataclasses import asdict
from pathlib import Path

from deploy.chaos.campaign import Round


def read(path: Path | None) -> list[Round]:
    """Nothing without a file. Raises ValueError for a file that is no such record."""
    if path is None or not path.exists():
        return []
    return [_round(path, line) for line in path.read_text(encoding="utf-8").splitlines()]


def add(path: Path | None, done: Round) -> None:
    if path is not None:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(done)) + "\n")


def _round(path: Path, line: str) -> Round:
    try:
        kept = json.loads(line)
        return Round(**{**kept, "faults": tuple(kept["faults"])})
    except (TypeError, KeyError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} is no record of a campaign: {error}") from error
