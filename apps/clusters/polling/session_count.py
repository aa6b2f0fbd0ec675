"""Counts the sessions of a pgpool that have ended, from SHOW POOL_PROCESSES.

client_connection_count of a child counts a session when it ends; it is lost when the child is recycled, and our own
sessions are in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from apps.clusters.domain.show_rows import PoolProcess

TOO_OLD = "this Pgpool-II does not count sessions (client_connection_count came with 4.3)"


@dataclass
class SessionCounter:
    """total: sessions of others that ended since watching began."""

    total: int = 0
    _seen: dict[tuple[int, str], int] | None = None
    _own_pending: int = field(default=0)

    def count(self, processes: Sequence[PoolProcess], *, own_ended: int) -> int | None:
        """The new total; None where pgpool does not count. own_ended: sessions of ours that ended since the last call.

        A child that was not there before counts from 0: it started since. What a recycled child counted after
        the last look is lost, at most one look's worth.
        """
        counts = {(one.pid, one.started): one.client_connection_count for one in processes}
        known = {key: count for key, count in counts.items() if count is not None}
        if len(known) < len(counts):
            return None
        if self._seen is not None:
            grown = sum(count - min(self._seen.get(key, 0), count) for key, count in known.items())
            # pgpool counts our session a moment after we have closed it: what is not there yet is subtracted later.
            own = self._own_pending + own_ended
            self._own_pending = max(own - grown, 0)
            self.total += max(grown - own, 0)
        self._seen = known
        return self.total
