"""The topology strip: reads from each pgpool to each backend as ribbons whose width is their rate."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypedDict

ROW_HEIGHT = 48
ROW_GAP = 7
# All reads together are this many pixels wide: what one full row can take in.
_FULL_WIDTH = 44.0
_THINNEST = 0.2


@dataclass(frozen=True, slots=True)
class Flow:
    """Reads from the pgpool in row `source` to the backend in row `target`."""

    source: int
    target: int
    node_id: int
    reads_per_s: float
    is_same_az: bool | None  # None where an AZ is not known
    title: str


class Ribbon(TypedDict):
    """One ribbon: an SVG path in a box 100 wide, the backend whose colour it takes, and what it says."""

    path: str
    node_id: int
    is_same_az: bool
    title: str


def height(rows: int) -> int:
    """Height of a strip with this many rows, in pixels."""
    return max(rows, 1) * (ROW_HEIGHT + ROW_GAP) - ROW_GAP


def cross_az_share(flows: Sequence[Flow]) -> float | None:
    """Share of reads that cross an AZ; None while nothing is read or an AZ is not known."""
    total = sum(flow.reads_per_s for flow in flows)
    if total <= 0 or any(flow.is_same_az is None for flow in flows if flow.reads_per_s > 0):
        return None
    return sum(flow.reads_per_s for flow in flows if flow.is_same_az is False) / total


def strip(flows: Sequence[Flow]) -> list[Ribbon]:
    """Ribbons that leave and reach their rows without crossing more than they must."""
    total = sum(flow.reads_per_s for flow in flows)
    if total <= 0:
        return []
    scale = _FULL_WIDTH / total
    leaves = {row: _start(row, flows, scale, lambda flow: flow.source) for row in {flow.source for flow in flows}}
    reaches = {row: _start(row, flows, scale, lambda flow: flow.target) for row in {flow.target for flow in flows}}
    found: list[Ribbon] = []
    for flow in sorted(flows, key=lambda each: (each.source, each.target)):
        width = flow.reads_per_s * scale
        if width >= _THINNEST:
            path = _path(leaves[flow.source], reaches[flow.target], width)
            found.append(
                {"path": path, "node_id": flow.node_id, "is_same_az": bool(flow.is_same_az), "title": flow.title}
            )
        leaves[flow.source] += width
        reaches[flow.target] += width
    return found


def _start(row: int, flows: Sequence[Flow], scale: float, side: Callable[[Flow], int]) -> float:
    width = sum(flow.reads_per_s for flow in flows if side(flow) == row) * scale
    return row * (ROW_HEIGHT + ROW_GAP) + ROW_HEIGHT / 2 - width / 2


def _path(leaves: float, reaches: float, width: float) -> str:
    return (
        f"M0,{leaves:.1f} C45,{leaves:.1f} 55,{reaches:.1f} 100,{reaches:.1f} L100,{reaches + width:.1f} "
        f"C55,{reaches + width:.1f} 45,{leaves + width:.1f} 0,{leaves + width:.1f} Z"
    )
