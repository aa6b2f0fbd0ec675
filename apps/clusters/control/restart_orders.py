"""A restart command under way in a thread, so that the worker can look at the pgpool and keep its lease meanwhile."""

from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from typing import Any

from apps.clusters.control import restart_ways
from apps.clusters.models import PgpoolInstance
from apps.clusters.outside.delivery.restart import CommandEnded, RestartNotBegun
from apps.clusters.outside.delivery.ssh_session import SshFailed


class Order:
    """Begun when it is made. After wait() has said so: receipt, failure and is_unknown.

    failure: why it did not restart anything, "" where it ended well. is_unknown: it may have been begun, and nobody
    knows what came of it.
    """

    def __init__(self, instance: PgpoolInstance, way: str) -> None:
        self._way = restart_ways.way_of(instance)
        self.failure = ""
        self.is_unknown = False
        self.receipt: dict[str, Any] = {"by": self._way.says}
        threads = ThreadPoolExecutor(max_workers=1, thread_name_prefix="restart")
        self._under_way = threads.submit(restart_ways.carry_out, instance, way)
        threads.shutdown(wait=False)

    def wait(self, seconds: float) -> bool:
        """Whether it has ended."""
        done, _ = wait_for([self._under_way], timeout=seconds)
        if not done:
            return False
        try:
            self._ended(self._under_way.result())
        except RestartNotBegun as error:
            self.failure = str(error)
            self.receipt["not_begun"] = str(error)
        except SshFailed as error:
            self.is_unknown = True
            self.receipt["lost"] = error.reason
        return True

    def _ended(self, ended: CommandEnded) -> None:
        self.receipt |= {"code": ended.code, "said": ended.said}
        if ended.code != 0:
            self.failure = f"it ended with {ended.text}"
