"""What a step of a rollout says when it has to wait for somebody else, which is neither a success nor a failed try."""

from datetime import datetime, timedelta


class NotYet(Exception):
    """The action cannot be done yet, and nothing is wrong: ask again.

    Raised by an action (or by what it calls in `outside`), the step stays as it is: no try is counted, nothing halts.
    The reason is a whole sentence that names what is waited for; it stands on the page until the action goes on.
    Whoever raises it must have changed nothing that another call would not find again.
    longest: after so long a wait it is a failure all the same.
    """

    def __init__(self, reason: str, *, retry_s: float = 2.0, longest: timedelta | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retry_s = retry_s
        self.longest = longest

    def is_over(self, *, since: datetime | None, now: datetime) -> bool:
        return self.longest is not None and since is not None and now - since >= self.longest
