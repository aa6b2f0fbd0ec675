"""Every revision says what stands on every pgpool, the first one what was registered; and all can be gone back to."""

from datetime import timedelta
from typing import Any

import pytest

from apps.clusters.control import (
    drift_changes,
    presence,
    revision_return,
    rollout_actions,
    rollout_rows,
    whole_revisions,
)
from apps.clusters.control.revision_return import ReturnRefused
from apps.clusters.control.weight_change import BaseChanged
from apps.clusters.models import Cluster, ConfigRevision, InstanceConfig, PgpoolInstance, RevisionDebt, Rollout
from apps.clusters.polling import file_watch
from apps.clusters.queries.revision_history import revision_answers
from tests.clusters.callers_at_doors import browser, script
from tests.clusters.rollout_scene import NOW, Scene, conf_text

pytestmark = pytest.mark.django_db

REVISIONS = "/api/v1/clusters/orders/revisions/"
PAGE = "/o/acme/clusters/orders/revisions/"
THEIRS = "delay_threshold = 1000\nlog_connections = on\n"


@pytest.fixture(autouse=True)
def no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rollout_actions, "READ_BACK_PATIENCE_S", 0.05)
    monkeypatch.setattr(presence, "DEADLINE_S", 1.0)
    monkeypatch.setattr(rollout_rows, "LEASE", timedelta(hours=1))


def look() -> None:
    file_watch.look(holder="watcher", clock=lambda: NOW, deadline_s=5)


def edit(pair: Scene) -> None:
    """The file of pgpool-2, by hand."""
    pair.confs[1].write_text(pair.confs[1].read_text().replace("delay_threshold = 1000\n", THEIRS))


def adopt(pair: Scene) -> Rollout:
    edit(pair)
    return pair.advance(drift_changes.request_adoption(caller=pair.caller, cluster=pair.cluster, now=NOW))


def revision(number: int) -> ConfigRevision:
    return ConfigRevision.objects.get(number=number)


def go_back(pair: Scene, number: int, **wanted: Any) -> Rollout:
    return revision_return.request_return(
        caller=pair.caller, cluster=pair.cluster, revision=revision(number), now=NOW, **wanted
    )


def whole_texts(number: int) -> list[str]:
    return [file.text for file in whole_revisions.files_of(revision(number)).values()]


def test_the_first_change_keeps_the_files_as_they_were_registered_although_they_were_edited_since(pair: Scene) -> None:
    look()
    edit(pair)

    pair.advance(pair.request(base="live"))

    notes = list(ConfigRevision.objects.order_by("number").values_list("number", "note"))
    assert notes == [(1, "as registered"), (2, "as found on the pgpools"), (3, "")]
    assert whole_texts(1) == [conf_text()] * 2
    assert THEIRS in whole_texts(2)[1]


def test_an_adoption_as_the_first_change_can_be_gone_back_from(pair: Scene) -> None:
    look()
    assert adopt(pair).revision.number == 2

    back = pair.advance(go_back(pair, 1))

    assert (back.state, back.revision.note) == ("verified", "back to revision 1")
    assert back.revision.origin == "rollback"
    assert pair.confs[0].read_text() == conf_text()
    assert pair.pgpools[1].values["log_connections"] == "off"


def test_a_revision_of_one_pgpool_says_what_stands_on_the_others(pair: Scene) -> None:
    pair.advance(pair.request())
    adopt(pair)
    changed = [file.text for file in revision(2).files.order_by("instance_name")]
    pair.advance(pair.request({"0": 0, "1": 5, "2": 1}))

    [_, of_one, *_] = revision_answers(cluster=pair.cluster, before=None, limit=9)
    assert of_one["number"] == 3
    assert of_one["weights"] == {"pgpool-1": {"0": 0, "1": 1, "2": 3}, "pgpool-2": {"0": 0, "1": 1, "2": 3}}
    assert browser("viewer").get(f"{PAGE}3/").content.decode().count("left alone: as in") == 1
    assert script("operator").get(f"{REVISIONS}3/").json()["carried"] == {"pgpool-1": 2}
    assert whole_texts(3) == [changed[0], changed[1].replace("delay_threshold = 1000\n", THEIRS)]
    assert pair.advance(go_back(pair, 3)).state == "verified"
    assert pair.texts() == whole_texts(3)


def test_what_was_taken_back_is_not_carried_on(pair: Scene) -> None:
    pair.advance(pair.request())
    standing = pair.texts()
    pair.pgpools[1].mode = "forget"
    assert pair.advance(pair.request({"0": 0, "1": 7, "2": 1})).state != "verified"
    pair.pgpools[1].mode = "ok"
    pair.pgpools[1].reload()

    adopt(pair)

    assert whole_texts(4)[0] == standing[0]
    assert whole_revisions.weights_of(revision(4), pair.instances)["pgpool-1"] == {"0": 0, "1": 1, "2": 3}


def test_page_and_rest_show_what_it_writes_and_start_it(pair: Scene) -> None:
    pair.advance(pair.request())
    operator, viewer = browser("operator"), browser("viewer")

    assert "Go back to this revision" in operator.get(f"{PAGE}1/").content.decode()
    assert "Go back to this revision" not in viewer.get(f"{PAGE}1/").content.decode()
    assert viewer.post(f"{PAGE}1/roll-out/").status_code == 403
    shown = operator.get(f"{PAGE}1/roll-out/").content.decode()
    assert "The files of revision 1, on 2 pgpools" in shown
    assert "backend_weight2 = 1" in shown
    posted = operator.post(f"{PAGE}1/roll-out/", {"base": "known"})
    assert posted["Location"] == f"/o/acme/rollouts/{Rollout.objects.latest('pk').pk}/"
    pair.advance(Rollout.objects.latest("pk"))
    assert pair.texts() == [conf_text()] * 2

    writer = script("admin")
    told = writer.get(f"{REVISIONS}2/rollout/").json()
    assert (told["can_return"], told["base"], told["left_alone"]) == (True, "known", [])
    assert [each["changed_lines"] for each in told["files"]] == [1, 1]
    started = writer.post(f"{REVISIONS}2/rollout/", {"plan": {"strategy": "all_at_once"}}, format="json")
    assert (started.status_code, started.json()["plan"]["strategy"]) == (202, "all_at_once")
    assert writer.post(f"{REVISIONS}9/rollout/").status_code == 404


def test_it_is_offered_only_when_and_to_whom_it_can_be_done(pair: Scene) -> None:
    pair.advance(pair.request())
    operator, page = script("operator"), browser("admin")

    def told() -> tuple[bool, str]:
        answer = operator.get(f"{REVISIONS}1/rollout/").json()
        assert answer["can_return"] == bool(answer["files"])
        shown = page.get(f"{PAGE}1/roll-out/").content.decode()
        assert ("Go back to revision 1</button>" in shown) == answer["can_return"]
        return answer["can_return"], answer["reason"]

    assert told() == (True, "")
    running = pair.request({"0": 0, "1": 5, "2": 1})
    assert told() == (False, f"Rollout {running.pk} of this cluster is still running. Wait for its end, or cancel it.")
    Rollout.objects.filter(pk=running.pk).update(state="cancelled")
    Cluster.objects.update(is_observe_only=True)
    assert told() == (False, "Orders is observe only: Lifeguard watches it and never writes to its pgpools.")
    assert script("viewer").get(f"{REVISIONS}1/rollout/").status_code == 403


def test_a_pgpool_that_is_away_can_owe_it(pair: Scene) -> None:
    pair.advance(pair.request())
    PgpoolInstance.objects.filter(name="pgpool-2").update(port=2, pcp_port=1)
    pair.confs[1].rename(pair.confs[1].with_suffix(".gone"))
    operator = browser("operator")

    shown = operator.get(f"{PAGE}1/roll-out/").content.decode()
    assert "Not every pgpool can be reached." in shown
    answer = script("admin").get(f"{REVISIONS}1/rollout/").json()
    assert (answer["can_return"], answer["unreached"].startswith("pgpool-2: ")) == (True, True)
    for plan, status, said in (
        ({"plan_strategy": "one_by_one", "plan_hold_s": "soon"}, 422, "a whole number of seconds"),
        ({"plan_strategy": "one_by_one"}, 409, "Nothing was changed."),
    ):
        refused = operator.post(f"{PAGE}1/roll-out/", {"base": "known", **plan})
        assert (refused.status_code, said in refused.content.decode()) == (status, True)
    owing = {"base": "known", "plan_strategy": "one_by_one", "plan_absent": "give"}
    assert operator.post(f"{PAGE}1/roll-out/", owing).status_code == 303

    back = pair.advance(Rollout.objects.latest("pk"))
    assert (back.state, pair.confs[0].read_text()) == ("verified", conf_text())
    assert [debt.step.instance_name for debt in RevisionDebt.objects.all()] == ["pgpool-2"]


def test_an_edit_by_hand_is_kept_as_a_revision_before_it_goes(pair: Scene) -> None:
    pair.advance(pair.request())
    edit(pair)

    with pytest.raises(BaseChanged):
        go_back(pair, 1)
    told = script("operator").get(f"{REVISIONS}1/rollout/").json()
    assert (told["can_return"], told["base"]) == (True, "live")
    assert told["differences"][0]["name"] == "log_connections"
    assert pair.advance(go_back(pair, 1, base="live")).state == "verified"

    assert THEIRS in whole_texts(3)[1]
    assert pair.confs[0].read_text() == conf_text()


def test_files_that_pgpool_could_not_go_by_any_more_are_refused(pair: Scene) -> None:
    pair.advance(pair.request())
    kept = revision(1).files.get(instance_name="pgpool-2")
    kept.text = kept.text.replace("backend_hostname2", "backend_hostname3")
    kept.save(update_fields=["text"])

    with pytest.raises(ReturnRefused, match=r"The file of pgpool-2 cannot be put back as it was: .*backend_hostname3"):
        go_back(pair, 1)
    told = script("operator").get(f"{REVISIONS}1/rollout/").json()
    assert not told["can_return"]
    assert "backend_hostname3" in told["reason"]


def test_a_pgpool_that_was_registered_since_keeps_its_file(pair: Scene) -> None:
    pair.advance(pair.request())
    ConfigRevision.objects.get(number=1).files.filter(instance_name="pgpool-2").delete()
    InstanceConfig.objects.all().delete()

    back = go_back(pair, 1)

    assert [step.instance_name for step in back.steps.all()] == ["pgpool-1"]
