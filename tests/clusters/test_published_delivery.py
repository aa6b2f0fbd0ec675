"""Delivery by hand: published, waited for, and verified by asking pgpool; the doors of both and of the SSH key."""

import html
import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from apps.clusters.control import rollout_actions, rollouts, writes_switch
from apps.clusters.models import PgpoolInstance, PublishedFile, Rollout, SshKey
from apps.clusters.outside.delivery.outcomes import sha256_of
from apps.clusters.outside.delivery.ssh_keys import fingerprint, new_key
from tests.clusters.callers_at_doors import browser, script
from tests.clusters.rollout_scene import NOW, SECRET, Clock, Scene, conf_text, scene
from tests.clusters.test_registry_import import exported, outcome

pytestmark = pytest.mark.django_db


@pytest.fixture
def pair(db: None, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    """The first pgpool is delivered by hand, the second is a file on this machine."""
    monkeypatch.setattr(rollout_actions, "READ_BACK_PATIENCE_S", 0.05)
    with scene(tmp_path, settings, pgpools=2) as found:
        first = found.instances[0]
        PgpoolInstance.objects.filter(pk=first.pk).update(
            delivery_kind="manual", delivery_path="", delivery_target=None
        )
        text = conf_text()
        PublishedFile.objects.create(instance=first, text=text, sha256=sha256_of(text.encode()))
        yield found


def published() -> str:
    return PublishedFile.objects.get().text


def test_a_published_file_is_waited_for_until_somebody_applied_it(pair: Scene) -> None:
    clock, rollout = Clock(), pair.request()

    pair.advance(rollout, clock=clock)

    step = rollout.steps.get(position=0)
    assert (rollout.state, step.state, step.attempts) == ("running", "reloaded", 0)
    assert "backend_weight2 = 3" in published()
    assert step.waiting_for == (
        f"The file {step.file.sha256[:12]} is published for pgpool-1; it is asked every 5 s until the file was applied "
        "there and reloaded. Seen latest: pgpool-1 does not use the file that it was given, it keeps other values: "
        "backend_weight2 is 1, not 3."
    )
    assert pair.texts() == [conf_text()] * 2  # nothing is written on any host before that
    page = browser("operator").get(f"/o/acme/rollouts/{rollout.pk}/").content.decode()
    told = [page.count(f'">{word}</span>') for word in ("Published", "By others", "Written", "Reloaded")]
    assert told == [1, 1, 0, 0]
    assert "Cancelling puts the old file of pgpool-1 back; the others are left as they are." in page

    pair.confs[0].write_text(published())
    pair.pgpools[0].reload()
    clock.sleep(10)
    pair.advance(rollout, clock=clock)

    assert rollout.state == "verified"
    assert pair.weights() == [{0: 0.0, 1: 1.0, 2: 3.0}] * 2


def test_what_waits_holds_up_its_cluster_and_what_is_written_with_it_goes_on(pair: Scene) -> None:
    rollout = pair.request(plan={"strategy": "all_at_once"})

    pair.advance(rollout)

    assert (rollout.state, pair.states(rollout)) == ("running", ["reloaded", "verified"])
    other = {"parameters": {"delay_threshold": "7"}}
    refused = script("operator").put("/api/v1/clusters/orders/parameters/", other, format="json")
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:lifeguard:rollout-running")


def test_a_wait_can_be_cancelled_at_once(pair: Scene) -> None:
    clock, rollout = Clock(), pair.request()
    pair.advance(rollout, clock=clock)

    rollouts.cancel(caller=pair.caller, rollout=rollout, now=NOW)
    pair.advance(rollout, clock=clock)

    assert Rollout.objects.get().state == "rolled_back"
    assert published() == conf_text()


def test_a_wait_ends_after_its_hours(pair: Scene) -> None:
    PgpoolInstance.objects.filter(name="pgpool-1").update(longest_wait_h=2)
    clock, rollout = Clock(), pair.request()
    pair.advance(rollout, clock=clock)

    clock.now += timedelta(hours=2)
    pair.advance(rollout, clock=clock)

    assert Rollout.objects.get().state == "rolled_back"
    assert "Nothing came of it within 2 h" in Rollout.objects.get().halt_reason
    assert published() == conf_text()
    assert pair.texts() == [conf_text()] * 2


@pytest.mark.parametrize("is_asked_meanwhile", [True, False])
def test_a_wait_does_not_run_out_while_writes_are_stopped(pair: Scene, is_asked_meanwhile: bool) -> None:
    PgpoolInstance.objects.filter(name="pgpool-1").update(longest_wait_h=1)
    clock, rollout = Clock(), pair.request()
    pair.advance(rollout, clock=clock)
    stopped = " All writes were stopped by Ann: storage. Nobody is given the file until they are allowed again; "

    writes_switch.stop(caller=pair.caller, reason="storage", now=clock.now)
    clock.now += timedelta(hours=2)
    if is_asked_meanwhile:
        pair.advance(rollout, clock=clock)
        waiting_for = rollout.steps.get(position=0).waiting_for
        assert waiting_for.endswith(f"{stopped}the time for it, 1 h, begins anew then.")
    writes_switch.allow_by_command(organisation=pair.cluster.organisation, reason="", now=clock.now)
    clock.now += timedelta(minutes=59)
    pair.advance(rollout, clock=clock)

    assert rollout.state == "running"
    assert stopped not in rollout.steps.get(position=0).waiting_for
    clock.now += timedelta(minutes=1)
    pair.advance(rollout, clock=clock)
    assert rollout.state == "rolled_back"
    assert "Nothing came of it within 1 h" in rollout.halt_reason


def test_what_was_published_meanwhile_is_not_overwritten(pair: Scene) -> None:
    rollout = pair.request()
    edited = conf_text() + "# edited meanwhile\n"
    PublishedFile.objects.update(text=edited, sha256=sha256_of(edited.encode()))

    pair.advance(rollout)

    assert rollout.state == "failed"
    assert "base_changed" in rollout.steps.get(position=0).error
    assert published() == edited


def test_a_script_fetches_the_exact_file_and_learns_when_it_is_the_same(pair: Scene) -> None:
    address = "/api/v1/clusters/orders/instances/pgpool-1/published/"
    operator = script("operator")

    fetched = operator.get(address)

    assert (fetched.status_code, fetched.content.decode()) == (200, published())
    assert fetched["Content-Type"] == "text/plain; charset=utf-8"
    assert fetched["ETag"] == f'"{sha256_of(published().encode())}"'
    assert operator.get(address, headers={"If-None-Match": f'"x", {fetched["ETag"]}'}).status_code == 304
    assert operator.get(address, headers={"Accept": "text/plain"}).status_code == 200
    assert operator.get(address.replace("pgpool-1", "pgpool-2")).status_code == 404
    assert script("viewer").get(address).status_code == 403


def test_a_file_that_was_published_before_all_writes_were_stopped_is_given_to_nobody(pair: Scene) -> None:
    address = "/api/v1/clusters/orders/instances/pgpool-1/published/"
    page = f"/o/acme/clusters/orders/settings/pgpools/{pair.instances[0].pk}/published/"
    operator, viewer = script("operator"), browser("viewer")
    known = operator.get(address)["ETag"]
    assert "data-withheld" not in viewer.get(page).content.decode()

    writes_switch.stop(caller=pair.caller, reason="storage", now=NOW)

    for headers in ({}, {"If-None-Match": known}, {"Accept": "text/plain"}):
        refused = operator.get(address, headers=headers)
        assert (refused.status_code, refused.json()["type"]) == (409, "urn:lifeguard:writes-stopped")
        assert "backend_weight" not in refused.content.decode()
    shown = viewer.get(page).content.decode()
    assert "This file is given to nobody now." in shown
    assert "All writes were stopped by Ann: storage." in shown

    writes_switch.allow_by_command(organisation=pair.cluster.organisation, reason="", now=NOW)
    assert operator.get(address).content.decode() == published()

    pair.cluster.__class__.objects.filter(pk=pair.cluster.pk).update(is_observe_only=True)
    assert operator.get(address).json()["type"] == "urn:lifeguard:observe-only"


def test_the_page_masks_what_the_address_gives_away(pair: Scene) -> None:
    first = pair.instances[0]

    shown = browser("viewer").get(f"/o/acme/clusters/orders/settings/pgpools/{first.pk}/published/")

    assert shown.status_code == 200
    assert PublishedFile.objects.get().sha256 in shown.content.decode()
    assert SECRET not in shown.content.decode()


def test_a_key_for_ssh_is_shown_by_its_public_half_only(pair: Scene) -> None:
    admin, scripted, own = browser("admin"), script("admin", organisation="rival"), new_key("own")

    made = scripted.post("/api/v1/ssh-key/").json()
    given = scripted.put("/api/v1/ssh-key/", {"private_key": own.private}, format="json")
    refused = scripted.put("/api/v1/ssh-key/", {"private_key": f"{own.private[:80]}secret"}, format="json")
    page = admin.get("/o/acme/ssh-key/").content.decode()
    refused_page = admin.post("/o/acme/ssh-key/own/create/", {"private_key": f"{own.private[:80]}secret"})

    line = 'command="/usr/local/lib/lifeguard/node /etc/pgpool2/pgpool.conf",restrict ssh-ed25519 '
    assert made["authorized_keys"].startswith(line)
    assert given.json()["fingerprint"] == fingerprint(own.public) != made["fingerprint"]
    assert (refused.status_code, b"secret" in refused.content) == (400, False)
    assert SshKey.objects.get(organisation__slug="acme").public_key in html.unescape(page)
    assert (refused_page.status_code, b"secret" in refused_page.content) == (422, False)
    assert "PRIVATE KEY" not in page + given.content.decode() + refused_page.content.decode()


def test_the_registry_as_yaml_holds_no_published_file_and_coming_back_changes_nothing(pair: Scene) -> None:
    second = pair.instances[1]
    PgpoolInstance.objects.filter(pk=second.pk).update(
        delivery_kind="ssh", delivery_target=f"ssh:1:h:22:{second.delivery_path}", ssh_host="h",
        ssh_username="lifeguard", ssh_host_key=new_key("host").public,
    )  # fmt: skip
    admin = script("admin")

    text = exported(admin)

    assert SECRET not in text
    assert "kind: manual" in text
    assert "user: lifeguard" in text
    assert outcome(admin, text) == ("unchanged", "is so already")


SPACED = "backend_flag0 = 'ALLOW_TO_FAILOVER | ALWAYS_PRIMARY'\n"


@pytest.fixture
def old_pgpool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stands for the pgpool 4.3.5 beside the worker, which knows no spaces between flags, nor the word `lots`."""
    program = tmp_path / "pgpool"
    program.write_text(
        "#!/bin/sh\n"
        'if [ "$1" = --version ]; then echo "pgpool-II version 4.3.5 (tamahomeboshi)"; exit; fi\n'
        "if grep -q ' | ' \"$2\"; then echo 'FATAL:  unknown backend flag:ALLOW_TO_FAILOVER' >&2; exit 3; fi\n"
        "if grep -q ' lots' \"$2\"; then echo 'FATAL:  invalid value: \"lots\"' >&2; exit 3; fi\n"
        "echo 'FATAL:  could not open pid file' >&2; exit 3\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    return program


def stands(pair: Scene, lines: str) -> None:
    """In the published file, and in that of the host, from the beginning."""
    text = conf_text() + lines
    PublishedFile.objects.update(text=text, sha256=sha256_of(text.encode()))
    pair.confs[0].write_text(text)


@pytest.mark.parametrize(
    ("version", "lines", "state"),
    [
        ("4.6.1", SPACED, "running"),  # refused by 4.3.5 alone
        ("4.6.1", SPACED + "num_init_children = lots\n", "failed"),  # neither takes it
        ("4.3.12", SPACED, "failed"),  # of the same release
        ("", SPACED, "failed"),  # nobody knows
    ],
)
def test_what_only_another_version_beside_the_worker_refuses_fails_no_rollout(
    pair: Scene, old_pgpool: Path, version: str, lines: str, state: str
) -> None:
    PgpoolInstance.objects.filter(name="pgpool-1").update(version=version)
    stands(pair, lines)

    rollout = pair.advance(pair.request())

    assert rollout.state == state, rollout.halt_reason
    step = rollout.steps.get(position=0)
    if state == "running":
        assert step.receipt["dry_run"] == (
            "the pgpool beside the worker is 4.3.5 and refuses the file (unknown backend flag:ALLOW_TO_FAILOVER); "
            "nothing is wrong with it for 4.6.1, which pgpool-1 runs"
        )
    else:
        assert "unknown backend flag" in rollout.halt_reason
        assert not step.is_touched


def test_a_preview_says_how_far_the_pgpool_beside_the_worker_counts(pair: Scene) -> None:
    PgpoolInstance.objects.filter(name="pgpool-1").update(version="4.6.1")
    operator = script("operator")

    weights = operator.post("/api/v1/clusters/orders/weights/preview/", {"weights": {"0": 0, "1": 1, "2": 3}}).json()
    wish = {"parameters": {"child_life_time": "90"}}
    parameters = operator.post("/api/v1/clusters/orders/parameters/preview/", wish).json()
    page = browser("admin").post(
        "/o/acme/clusters/orders/weights/preview/", {"weight_0": 0, "weight_1": 1, "weight_2": 3}
    )

    for found in (weights, parameters):
        by_hand, local = found["instances"]
        assert "pgpool-1 runs 4.6.1" in by_hand["parsed_by"]
        assert local["parsed_by"] == ""
    assert "pgpool-1 runs 4.6.1" in page.content.decode()
