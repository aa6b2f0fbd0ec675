"""What a survey proposes goes into a draft: behind what stands there, by the names of each version, once."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apps.clusters.domain.function_lists import list_names, merged, missing
from apps.clusters.models import FunctionSurvey, InstanceConfig, Rollout
from tests.clusters.callers_at_doors import browser, script
from tests.clusters.rollout_scene import NOW, Scene, conf_text, scene

pytestmark = pytest.mark.django_db

REST = "/api/v1/clusters/orders/"
PAGE = "/o/acme/clusters/orders/functions/"
PROPOSED = "logs,nextval,public[.]logs,wei[$]rd"


@pytest.fixture
def acme(db: None, tmp_path: Path, settings: Any) -> Iterator[Scene]:
    with scene(tmp_path, settings, pgpools=2) as found:
        found.cluster.instances.update(version="4.3.5")
        FunctionSurvey.objects.create(
            cluster=found.cluster, database="shop", state="done", requested_by_name="Ann", requested_at=NOW,
            finished_at=NOW, backend_name="pg1",
            result={"read": 2, "findings": [], "write_function_list": PROPOSED, "read_only_function_list": "",
                    "unlisted": []},
        )  # fmt: skip
        for instance, conf in zip(found.instances, found.confs, strict=True):
            see(instance, conf)
        yield found


def see(instance: Any, conf: Path, more: str = "") -> None:
    conf.write_text(conf_text() + more)
    InstanceConfig.objects.update_or_create(
        instance=instance, defaults={"file_text": conf.read_text(), "file_sha256": "0" * 64, "looked_at": NOW}
    )


@pytest.mark.parametrize(
    ("standing", "proposed", "expected", "added"),
    [
        ("", "a,b", "a,b", 2),
        ("mine, A", "a,b", "mine,A,b", 1),
        (r"f\,g,b", "a,b", r"f\,g,b,a", 1),
        ("a,b,", "a,b", "a,b", 0),
        ("my_.*", "wei[$]rd", "my_.*,wei[$]rd", 1),
    ],
)
def test_what_stands_there_stays_and_what_is_missing_follows(
    standing: str, proposed: str, expected: str, added: int
) -> None:
    assert (merged(standing, proposed), missing(standing, proposed)) == (expected, added)


@pytest.mark.parametrize(
    ("version", "write"),
    [("4.1.2", "black_function_list"), ("4.2", "write_function_list"), ("", "write_function_list")],
)
def test_lists_are_called_as_the_version_calls_them(version: str, write: str) -> None:
    assert list_names(version).write == write


def test_lists_that_are_alike_are_drafted_for_all_and_rolled_out(acme: Scene) -> None:
    asker = script("operator")
    own = {name: {"write_function_list": "mine"} for name in ("pgpool-1", "pgpool-2")}
    asker.patch(f"{REST}draft/", {"per_instance": own}, format="json")

    drafted = asker.post(f"{REST}functions/draft/", {}, format="json")

    [line] = drafted.json()["changes"]
    assert (drafted.status_code, line["instance"], line["value"]) == (200, None, f"mine,{PROPOSED}")
    assert asker.post(f"{REST}functions/draft/", {}, format="json").json() == drafted.json()
    assert asker.post(f"{REST}functions/draft/", {}, headers={"If-Match": '"0"'}).status_code == 412

    assert asker.post(f"{REST}draft/rollout/", {}, format="json").status_code == 202
    assert acme.advance(Rollout.objects.get()).state == "verified"
    assert all(f"write_function_list = 'mine,{PROPOSED}'" in text for text in acme.texts())


def test_lists_that_differ_stay_different_and_a_read_only_list_is_told(acme: Scene) -> None:
    first, second = acme.instances
    see(second, acme.confs[1], "write_function_list = 'own_.*'\nread_only_function_list = 'now'\n")
    person = browser("operator")

    page = person.get(PAGE).content.decode()
    assert "own_.*" in page
    assert "looks at no other list" in page
    assert person.post(f"{PAGE}draft/", {"empties_read_only": "on"})["Location"].endswith("/orders/draft/")

    draft = person.get("/o/acme/clusters/orders/draft/").content.decode()
    for name in ("write_function_list-pgpool-1", "write_function_list-pgpool-2", "read_only_function_list-pgpool-2"):
        assert f'id="parameter-{name}"' in draft
    assert "read_only_function_list-pgpool-1" not in draft
    assert f"own_.*,{PROPOSED}" in draft
    assert "3 changes not rolled out" in person.get(PAGE).content.decode()

    first.__class__.objects.filter(pk=first.pk).update(version="4.1.2")
    person.post("/o/acme/clusters/orders/draft/discard/")
    person.post(f"{PAGE}draft/")
    draft = person.get("/o/acme/clusters/orders/draft/").content.decode()
    assert 'id="parameter-black_function_list-pgpool-1"' in draft
    assert f"nextval,setval,{PROPOSED.replace('nextval,', '')}" in draft


def surveyed(acme: Scene, database: str, wanted: str | None, *writers: str, databases: list[str]) -> None:
    """writers: of its own, marked as they should be."""
    findings = [
        {"kind": "writes", "schema": "sales", "name": name, "arguments": "", "language": "sql",
         "volatility": "VOLATILE", "why": "runs INSERT", "remedy": ""}
        for name in writers
    ]  # fmt: skip
    FunctionSurvey.objects.create(
        cluster=acme.cluster, database=database, state="done", requested_by_name="Ann", requested_at=NOW,
        finished_at=NOW, backend_name="pg1",
        result={"read": 2, "findings": findings, "write_function_list": wanted, "read_only_function_list": "",
                "unlisted": [], "databases": databases},
    )  # fmt: skip


@pytest.mark.parametrize("order", [["crm", "shop"], ["shop", "crm"]])
def test_the_list_names_what_writes_in_every_database_that_was_read(acme: Scene, order: list[str]) -> None:
    """crm is marked rightly, and its writers go to the primary by the catalog: until there is a list."""
    FunctionSurvey.objects.all().delete()
    for database in order:
        wanted, writers = (PROPOSED, []) if database == "shop" else (None, ["book"])
        surveyed(acme, database, wanted, *writers, databases=["crm", "shop"])
    asker = script("operator")

    answer = asker.get(f"{REST}functions/").json()["proposal"]
    drafted = asker.post(f"{REST}functions/draft/", {}, format="json")

    whole = ",".join(sorted([*PROPOSED.split(","), "book", "sales[.]book"]))
    assert (answer["write_function_list"], answer["read"]) == (whole, ["crm", "shop"])
    assert (answer["unread"], answer["warning"]) == ([], "")
    [line] = drafted.json()["changes"]
    assert (drafted.status_code, line["value"]) == (200, whole)
    page = browser("viewer").get(PAGE).content.decode()
    assert "names what was read to write in crm, shop" in page
    assert "data-unread" not in page


def test_a_database_that_was_dropped_is_left_out(acme: Scene) -> None:
    surveyed(acme, "olddb", "gone", databases=["olddb", "shop"])
    asker = script("operator")
    assert asker.get(f"{REST}functions/").json()["proposal"]["read"] == ["olddb", "shop"]
    surveyed(acme, "shop", PROPOSED, databases=["shop"])

    told = asker.get(f"{REST}functions/").json()
    drafted = asker.post(f"{REST}functions/draft/", {}, format="json").json()

    assert (told["proposal"]["read"], told["proposal"]["unread"]) == (["shop"], [])
    assert told["proposal"]["write_function_list"] == PROPOSED
    assert [one["database"] for one in told["databases"]] == ["shop"]
    assert [line["value"] for line in drafted["changes"]] == [PROPOSED]
    assert "olddb" not in browser("viewer").get(PAGE).content.decode()


def test_a_template_that_was_read_counts_although_no_server_lists_it(acme: Scene) -> None:
    surveyed(acme, "template1", "gone", databases=["shop"])

    told = script("operator").get(f"{REST}functions/").json()["proposal"]

    assert (told["read"], told["unread"]) == (["shop", "template1"], [])


def test_databases_that_nobody_has_read_are_named_before_anything_is_drafted(acme: Scene) -> None:
    person, asker = browser("operator"), script("admin")
    page = person.get(PAGE).content.decode()
    assert "Which databases there are besides shop is not known" in page
    surveyed(acme, "shop", PROPOSED, databases=["ads", "crm", "shop"])

    told = asker.get(f"{REST}functions/").json()["proposal"]
    refused = asker.post(f"{REST}functions/draft/", {}, format="json")
    page = person.get(PAGE).content.decode()

    assert told["unread"] == ["ads", "crm"]
    assert told["warning"].startswith("ads and crm were not read")
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:lifeguard:databases-not-read")
    assert (refused.json()["databases"], refused.json()["detail"]) == (["ads", "crm"], told["warning"])
    assert asker.get(f"{REST}draft/").json()["changes"] == []
    assert told["warning"] in page
    assert "Add to my draft all the same" in page
    assert person.post(f"{PAGE}draft/")["Location"].endswith("/functions/")  # a page of before the last survey
    assert person.post(f"{PAGE}draft/", {"despite_unread": "on"})["Location"].endswith("/orders/draft/")
    accepted = asker.post(f"{REST}functions/draft/", {"despite_unread": True}, format="json")
    assert (accepted.status_code, len(accepted.json()["changes"])) == (200, 1)


def test_nothing_is_drafted_where_nothing_is_known_or_proposed(acme: Scene) -> None:
    person, asker = browser("operator"), script("admin")
    InstanceConfig.objects.filter(instance=acme.instances[1]).update(file_sha256="", file_text="")

    refused = asker.post(f"{REST}functions/draft/", {}, format="json")
    assert (refused.status_code, "pgpool-2" in refused.json()["detail"]) == (409, True)
    assert "once every pgpool.conf was read" in person.get(PAGE).content.decode()
    assert "needs the role operator" in browser("viewer").get(PAGE).content.decode()
    FunctionSurvey.objects.all().delete()
    assert asker.post(f"{REST}functions/draft/", {}, format="json").json()["type"] == "urn:lifeguard:nothing-proposed"
    assert person.post(f"{PAGE}draft/")["Location"].endswith("/functions/")
