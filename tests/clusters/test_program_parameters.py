"""What pgpool runs as a program is for admins, whatever way a value of it would take to a node."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.messages import get_messages

from apps.accounts.access import Caller
from apps.clusters.control import parameter_change, revision_return, rollouts
from apps.clusters.control.parameter_change import Wish
from apps.clusters.control.program_parameters import NeedsAdmin
from apps.clusters.models import ConfigRevision, Rollout
from apps.clusters.queries.revision_return import return_answer
from tests.clusters.callers_at_doors import browser, member, script
from tests.clusters.drifting import Drifting, drifting_pair
from tests.clusters.rollout_scene import NOW, conf_text

pytestmark = pytest.mark.django_db

REST = "/api/v1/clusters/orders/"
NAME = "failover_command"


@pytest.fixture
def pair(db: None, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Drifting]:
    with drifting_pair(tmp_path, settings, monkeypatch) as found:
        for number in (1, 2):
            found.edit("delay_threshold = 1000", f"delay_threshold = 1000\n{NAME} = '/bin/old %d'", number=number)
        found.look()
        yield found


def changed_by(admin: Caller, pair: Drifting) -> Rollout:
    """An admin has rolled out another program, and all is verified."""
    wish = Wish(parameters={NAME: "/bin/new %d"})
    rollout = parameter_change.request_change(caller=admin, cluster=pair.scene.cluster, wish=wish, now=NOW)
    rollout = pair.scene.advance(rollout)
    assert rollout.state == "verified", list(rollout.log.values_list("text", flat=True))
    return rollout


def test_an_operator_takes_no_program_back_and_an_admin_does(pair: Drifting) -> None:
    admin = member("admin")
    rollout = changed_by(admin, pair)

    with pytest.raises(NeedsAdmin, match=r"failover_command: pgpool runs .* on pgpool-1, pgpool-2. Ask an admin"):
        rollouts.request_rollback(caller=pair.scene.caller, rollout=rollout, now=NOW)
    first = ConfigRevision.objects.earliest("number")
    with pytest.raises(NeedsAdmin):
        revision_return.request_return(caller=pair.scene.caller, cluster=pair.scene.cluster, revision=first, now=NOW)
    told = return_answer(caller=pair.scene.caller, cluster=pair.scene.cluster, revision=first)
    assert (told["can_return"], told["reason"].startswith(f"{NAME}: pgpool runs")) == (False, True)
    assert return_answer(caller=admin, cluster=pair.scene.cluster, revision=first)["can_return"]
    assert Rollout.objects.count() == 1

    back = rollouts.request_rollback(caller=admin, rollout=rollout, now=NOW)
    assert pair.scene.advance(back).state == "verified"
    assert "'/bin/old %d'" in pair.scene.texts()[0]


def test_a_rollout_under_way_is_cancelled_by_an_operator_all_the_same(pair: Drifting) -> None:
    wish = Wish(parameters={NAME: "/bin/new %d"})
    rollout = parameter_change.request_change(caller=member("admin"), cluster=pair.scene.cluster, wish=wish, now=NOW)
    pair.scene.pgpools[1].mode = "forget"

    assert pair.scene.advance(rollout).state == "rolled_back"

    again = parameter_change.request_change(
        caller=Caller(rollout.requested_by, rollout.cluster.organisation, "admin"),
        cluster=pair.scene.cluster,
        wish=wish,
        now=NOW,
    )
    rollouts.cancel(caller=pair.scene.caller, rollout=again, now=NOW)
    assert pair.scene.advance(again).state == "cancelled"


def edited(pair: Drifting) -> Drifting:
    """Somebody with the account of pgpool-2 has named another program; pgpool does not use it yet."""
    pair.edit("/bin/old %d", "/bin/evil %d", reload=False)
    pair.look()
    return pair


@pytest.mark.parametrize(
    ("address", "body"),
    [("drift/adopt/", {}), ("drift/revert/", {}), ("weights/", {"weights": {"0": 0, "1": 1, "2": 3}, "base": "live"})],
)
def test_at_every_door_an_operator_is_refused_and_told_why(pair: Drifting, address: str, body: dict[str, Any]) -> None:
    edited(pair)
    operator, admin = script("operator"), script("admin")
    ask: Callable[[Any], Any] = (
        (lambda who: who.put(REST + address, body, format="json"))
        if body
        else (lambda who: who.post(REST + address, body, format="json"))
    )

    refused = ask(operator)

    assert (refused.status_code, refused.json()["type"]) == (403, "urn:lifeguard:needs-admin")
    assert (refused.json()["parameters"], refused.json()["instances"]) == ([NAME], ["pgpool-2"])
    assert not Rollout.objects.exists()
    assert ask(admin).status_code == 202


def test_pages_tell_an_operator_who_may(pair: Drifting) -> None:
    rollout = changed_by(member("admin"), pair)
    operator = browser("operator")

    answer = operator.post(f"/o/acme/rollouts/{rollout.pk}/rollback/")

    [message] = [str(each) for each in get_messages(answer.wsgi_request)]
    assert message.startswith("failover_command: pgpool runs what stands there as a program")
    assert Rollout.objects.count() == 1


def test_what_stands_there_already_keeps_no_operator_from_their_work(pair: Drifting) -> None:
    first = pair.scene.advance(pair.scene.request())
    pair.look()
    pair.edit("delay_threshold = 1000", "delay_threshold = 5")
    pair.look()

    assert first.state == "verified"
    adopted = pair.adopt()
    assert adopted.state == "verified"
    back = rollouts.request_rollback(caller=pair.scene.caller, rollout=adopted, now=NOW)
    assert pair.scene.advance(back).state == "verified"


def test_a_default_that_is_written_out_is_no_change(pair: Drifting) -> None:
    """follow_primary_command is empty where no line names it."""
    pair.edit("delay_threshold = 1000", "delay_threshold = 1000\nfollow_primary_command = ''", reload=False)
    pair.look()

    assert pair.adopt().state == "verified"
    assert "follow_primary_command" not in conf_text()
