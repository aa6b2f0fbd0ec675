"""What restarting pgpools one after the other would do: why it must not be begun, and what it costs if it is."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from apps.clusters.domain.rolling_restart import in_turn
from apps.clusters.domain.routing_words import listed


@dataclass(frozen=True, slots=True)
class PgpoolSeen:
    """One pgpool, as it was asked just now. trouble: why it did not answer.

    clients: sessions of others, None where not counted. by_hand: why nobody but a person can restart it, "" where
    Lifeguard can. wait_h: hours that are waited for that person.
    is_leader: of the watchdog; None without one. virtual_ip: its delegate_ip, "" where none is set.
    """

    name: str
    trouble: str = ""
    clients: int | None = None
    by_hand: str = ""
    wait_h: int = 24
    is_leader: bool | None = None
    virtual_ip: str = ""


@dataclass(frozen=True, slots=True)
class RestartAssessment:
    """refusals: why it is not done; risks: what will happen; order: the names in turn. Sentences all but the last."""

    refusals: tuple[str, ...]
    risks: tuple[str, ...]
    order: tuple[str, ...]


def assess(wanted: Collection[str], pgpools: Sequence[PgpoolSeen]) -> RestartAssessment:
    """wanted: names of those to be restarted. pgpools: all of the cluster."""
    chosen = [each for each in pgpools if each.name in wanted]
    leader = next((each.name for each in pgpools if each.is_leader), None)
    risks = [*_of_clients(chosen), *_of_others(chosen, pgpools), *_of_the_leader(chosen), *_of_hands(chosen)]
    if chosen:
        risks.append("Counters of a restarted pgpool begin at 0 again, and its query cache in shared memory is empty.")
    return RestartAssessment(
        tuple(_refusals(chosen, pgpools)), tuple(risks), in_turn([each.name for each in chosen], leader=leader)
    )


def _refusals(chosen: Sequence[PgpoolSeen], pgpools: Sequence[PgpoolSeen]) -> Iterator[str]:
    for each in pgpools:
        if each.trouble and each in chosen:
            yield f"{each.name} does not answer, so nobody could see that it was restarted: {_sentence(each.trouble)}"
        elif each.trouble:
            yield (
                f"{each.name} does not answer: {_sentence(each.trouble)} Nothing is restarted while another pgpool is "
                "away. Bring it back first."
            )


def _of_clients(chosen: Sequence[PgpoolSeen]) -> Iterator[str]:
    for each in chosen:
        if each.clients is None:
            yield f"Restarting {each.name} cuts its client sessions; how many there are is not known."
        elif each.clients:
            yield f"Restarting {each.name} cuts its {each.clients} client session{'s' * (each.clients != 1)}."
        else:
            yield f"No client is connected to {each.name} just now."


def _of_others(chosen: Sequence[PgpoolSeen], pgpools: Sequence[PgpoolSeen]) -> Iterator[str]:
    if not chosen:
        return
    if len(pgpools) == 1:
        yield "No other pgpool serves this cluster: no client can connect until it is back."
        return
    yield (
        "The other pgpools serve meanwhile. Lifeguard steers no load balancer: what stands in front of a pgpool has "
        "to notice that it is away, unless its restart command takes it out there first."
    )


def _of_the_leader(chosen: Sequence[PgpoolSeen]) -> Iterator[str]:
    for each in chosen:
        if each.is_leader:
            moves = f", and the virtual IP {each.virtual_ip} moves then" if each.virtual_ip else ""
            yield f"{each.name} leads the watchdog: its turn is last{moves}. Another pgpool becomes the leader."


def _of_hands(chosen: Sequence[PgpoolSeen]) -> Iterator[str]:
    hands = [each for each in chosen if each.by_hand]
    if not hands:
        return
    hours = min(each.wait_h for each in hands)
    names = listed([each.name for each in hands])
    yield (
        f"{names} {'is' if len(hands) == 1 else 'are'} restarted by hand: {_sentence(hands[0].by_hand)} When its turn "
        f"comes Lifeguard says so, and waits up to {hours} h until it sees the restart."
    )


def _sentence(text: str) -> str:
    return f"{text.rstrip('.')}."
