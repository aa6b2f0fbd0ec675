"""Topics of the live channel and who may follow them: an application registers an authoriser for its kind of topic."""

import re
from collections.abc import Callable

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

Authoriser = Callable[[AbstractBaseUser | AnonymousUser, int], bool]

_authorisers: dict[str, Authoriser] = {}
_TOPIC = re.compile(r"([a-z]+)\.([1-9][0-9]{0,17})")


class TopicUnknown(ValueError):
    """There is no such topic."""


def register(kind: str, authoriser: Authoriser) -> None:
    """kind: the word before the dot, as cluster in cluster.7; authoriser(user, 7) says whether they may follow it."""
    _authorisers[kind] = authoriser


def may_follow(user: AbstractBaseUser | AnonymousUser, topic: str) -> bool:
    """Raises TopicUnknown for a topic that no application registered."""
    match = _TOPIC.fullmatch(topic)
    if match is None or match[1] not in _authorisers:
        raise TopicUnknown(f"{topic!r} is no topic")
    return _authorisers[match[1]](user, int(match[2]))
