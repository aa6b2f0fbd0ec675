"""What measures in servers of its own puts them away however it is ended."""

import signal
import sys
from types import FrameType


def end_tidily() -> None:
    """SIGTERM, and SIGINT where a shell had it ignored, leave by way of every `finally`."""

    def leave(number: int, _: FrameType | None) -> None:
        sys.exit(128 + number)

    for one in (signal.SIGTERM, signal.SIGINT):
        signal.signal(one, leave)
