"""The page that starts a run: what can be chosen, what is refused beside its field, and who may."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import Organisation
from apps.benchmarks.models import BenchmarkAccess, BenchmarkRun
from apps.clusters.models import Cluster
from tests.benchmarks.scene import made_run
from tests.clusters.test_registration_pages import problem_beside, text_of

pytestmark = pytest.mark.django_db

NEW = "/o/acme/benchmarks/new/"
ORDERS = f"{NEW}?cluster=orders"
WRITING = f"{ORDERS}&workload=pgbench-tpcb-like"
Browsers = Callable[..., Client]


def filled(**changes: Any) -> dict[str, Any]:
    usual = {"topology": "primary", "clients": 4, "duration_s": 60, "warm_up_s": "", "parameter_scale": 10}
    return {**usual, **changes}


def radio(text: str, key: str) -> str:
    found = re.search(rf'<input type="radio" name="topology" value="{re.escape(key)}"[^>]*>', text)
    assert found is not None, key
    return found[0]


def test_an_operator_starts_a_run_and_comes_to_its_page(cluster: Cluster, client_for: Browsers) -> None:
    wanted = filled(
        topology="pgpools", threads=2, warm_up_s=5, parameter_scale=20, parameter_reconnect="on", note="why"
    )

    answer = client_for("operator").post(WRITING, wanted)

    run = BenchmarkRun.objects.get()
    assert (answer.status_code, answer["Location"]) == (303, f"/o/acme/benchmarks/runs/{run.pk}/")
    assert (run.workload, run.topology, run.clients, run.threads) == ("pgbench-tpcb-like", "pgpools", 4, 2)
    assert (run.duration_s, run.warm_up_s, run.note, run.requested_by_name) == (60, 5, "why", "Operator")
    assert run.parameters["scale"] == 20
    assert run.parameters["reconnect"] is True


def test_what_is_left_empty_is_as_usual(cluster: Cluster, client_for: Browsers) -> None:
    client_for("operator").post(ORDERS, filled(parameter_scale=""))

    run = BenchmarkRun.objects.get()
    assert (run.warm_up_s, run.threads, run.parameters["scale"]) == (0, 4, 10)
    assert run.parameters.get("reconnect") is False


@pytest.mark.parametrize(("chosen", "kept"), [("", None), ("True", True), ("False", False)])
def test_statements_are_prepared_as_usual_unless_somebody_says(
    chosen: str, kept: bool | None, cluster: Cluster, client_for: Browsers
) -> None:
    operator = client_for("operator")

    answer = operator.post(f"{ORDERS}&workload=sysbench-point-select", filled(parameter_prepared=chosen))

    run = BenchmarkRun.objects.get()
    assert (answer.status_code, run.parameters["prepared"]) == (303, kept)
    again = operator.get(f"{NEW}?run={run.pk}").content.decode()
    assert re.search(rf'<select name="parameter_prepared".*<option value="{chosen}" selected>', again, re.DOTALL)


SCRIPTED = f"{ORDERS}&workload=pgbench-scripts"
SCRIPTS = {
    "parameter_scripts_0_name": "look", "parameter_scripts_0_weight": "3",
    "parameter_scripts_0_sql": "SELECT 1;\r\nSELECT 2;",
    "parameter_scripts_1_name": "", "parameter_scripts_1_weight": "1", "parameter_scripts_1_sql": " ",
    "parameter_scripts_2_name": "pay", "parameter_scripts_2_sql": "SELECT 3;",
}  # fmt: skip


def test_own_scripts_are_typed_each_with_its_weight(cluster: Cluster, client_for: Browsers) -> None:
    wanted = filled(**SCRIPTS, parameter_scale=0, parameter_protocol="prepared", topology="standby:1")
    operator = client_for("operator")

    answer = operator.post(SCRIPTED, wanted)

    assert answer.status_code == 303
    run = BenchmarkRun.objects.get()
    assert run.parameters["scripts"] == [
        {"name": "look", "sql": "SELECT 1;\nSELECT 2;", "weight": 3},
        {"name": "pay", "sql": "SELECT 3;", "weight": 1},
    ]
    assert (run.parameters["protocol"], run.parameters["writes"], run.parameters["scale"]) == ("prepared", False, 0)
    assert "scripts look, pay" in text_of(operator.get("/o/acme/benchmarks/"))
    again = operator.get(f"{NEW}?run={run.pk}").content.decode()
    assert 'value="pay"' in again
    assert "SELECT 1;\nSELECT 2;</textarea>" in again
    assert "SQL of script 3" in again


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"parameter_scripts_2_name": "look"}, "Script 2, name: &#x27;look&#x27; is the name of another script, too"),
        ({"parameter_scripts_0_weight": "0"}, "Script 1, weight: &#x27;0&#x27; must be a whole number from 1"),
        ({"parameter_scripts_2_sql": ""}, "Script 2, sql:"),
        ({"parameter_scripts_0_sql": "\\shell rm"}, "Script 1, sql:"),
    ],
)
def test_what_is_wrong_with_a_script_is_told_with_its_number(
    cluster: Cluster, client_for: Browsers, changes: dict[str, str], words: str
) -> None:
    answer = client_for("operator").post(SCRIPTED, filled(**{**SCRIPTS, **changes}))

    assert answer.status_code == 422
    assert words in problem_beside(answer, "parameter_scripts")
    assert 'value="look"' in answer.content.decode()
    assert not BenchmarkRun.objects.exists()


def test_clients_are_counted_where_the_parameters_make_them(cluster: Cluster, client_for: Browsers) -> None:
    made = {"parameter_writers": 2, "parameter_groups": 3, "parameter_readers_per_group": 4}
    operator = client_for("operator")

    answer = operator.post(f"{ORDERS}&workload=pubsub", filled(clients="", **made))
    refused = operator.post(f"{ORDERS}&workload=pubsub", filled(clients="", **{**made, "parameter_writers": 0}))

    assert (answer.status_code, BenchmarkRun.objects.get().clients) == (303, 14)  # 2 + 3 × 4
    assert refused.status_code == 422
    assert "from 1 to 1000" in problem_beside(refused, "parameter_writers")


def test_scripts_that_write_go_to_no_standby(cluster: Cluster, client_for: Browsers) -> None:
    operator = client_for("operator")
    assert "disabled" not in radio(operator.get(SCRIPTED).content.decode(), "standby:1")

    answer = operator.post(SCRIPTED, filled(**SCRIPTS, parameter_writes="on", topology="standby:1"))

    assert answer.status_code == 422
    assert "takes no writes" in problem_beside(answer, "topology")


def test_every_topology_says_how_many_fit_or_why_it_cannot_be_chosen(cluster: Cluster, client_for: Browsers) -> None:
    text = client_for("operator").get(WRITING).content.decode()

    assert "disabled" in radio(text, "standby:1")
    assert "disabled" not in radio(text, "pgpools")
    assert "takes no writes, and this workload writes" in text
    # 32 children, of which 4 are used and 2 are kept; two such pgpools.
    assert "at most 26 clients" in text
    assert "at most 52 clients" in text


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"clients": 27, "topology": "pgpool:pgpool-1"}, "clients", "32 num_init_children, of which others use 4"),
        ({"clients": 101}, "clients", "from 1 to 100"),
        ({"clients": ""}, "clients", "required"),
        ({"duration_s": 121}, "duration_s", "from 1 to 120 s"),
        ({"duration_s": 100, "warm_up_s": 21}, "warm_up_s", "120 s are allowed"),
        ({"threads": 5}, "threads", "from 1 to 4"),
        ({"parameter_scale": 0}, "parameter_scale", "from 1 to 10000"),
        ({"parameter_scale": "many"}, "parameter_scale", "whole number"),
        ({"topology": ""}, "topology", "Choose where the load goes."),
        ({"topology": "standby:7"}, "topology", "cannot be chosen now"),
    ],
)
def test_what_cannot_be_run_is_refused_beside_its_field(
    cluster: Cluster, client_for: Browsers, changes: dict[str, Any], field: str, words: str
) -> None:
    answer = client_for("operator").post(ORDERS, filled(note="kept", **changes))

    assert answer.status_code == 422
    assert words in problem_beside(answer, field)
    assert 'value="kept"' in answer.content.decode()
    assert not BenchmarkRun.objects.exists()


def test_a_standby_takes_no_workload_that_writes(cluster: Cluster, client_for: Browsers) -> None:
    answer = client_for("operator").post(WRITING, filled(topology="standby:1"))

    assert answer.status_code == 422
    assert "cannot be chosen now" in problem_beside(answer, "topology")


def test_while_nobody_knows_the_primary_it_says_so(cluster: Cluster, client_for: Browsers) -> None:
    Cluster.objects.update(primary_node_id=None)

    told = text_of(client_for("operator").get(ORDERS))

    assert "Backends can be chosen once a pgpool has named the primary." in told


def test_a_run_is_done_again_as_it_was(cluster: Cluster, client_for: Browsers) -> None:
    run = made_run(
        cluster, state="done", workload="pgbench-tpcb-like", topology="pgpool:pgpool-2", note="again and again"
    )
    BenchmarkRun.objects.update(duration_s=33, clients=7, parameters={"scale": 42, "reconnect": True})
    operator = client_for("operator")

    assert f"{NEW}?run={run.pk}" in operator.get(f"/o/acme/benchmarks/runs/{run.pk}/").content.decode()
    text = operator.get(f"{NEW}?run={run.pk}").content.decode()

    assert "checked" in radio(text, "pgpool:pgpool-2")
    for name, value in (("clients", 7), ("duration_s", 33), ("parameter_scale", 42), ("note", "again and again")):
        assert re.search(rf'<input[^>]*name="{name}" value="{value}"', text), name
    assert re.search(r'<input[^>]*name="parameter_reconnect"[^>]*checked', text)
    assert '<option value="pgbench-tpcb-like" selected>' in text


def test_what_was_typed_is_kept_where_another_workload_is_chosen(cluster: Cluster, client_for: Browsers) -> None:
    typed = "&clients=7&duration_s=90&topology=pgpools&parameter_scale=abc&parameter_protocol=odd&note=%3Cb%3E"

    page = client_for("operator").get(f"{WRITING}{typed}").content.decode()

    assert "checked" in radio(page, "pgpools")
    for name, value in (("clients", "7"), ("duration_s", "90"), ("parameter_scale", "abc"), ("note", "&lt;b&gt;")):
        assert re.search(rf'name="{name}" value="{re.escape(value)}"', page), name
    assert re.search(r'<option value="simple" selected', page)


def test_a_place_that_takes_it_no_more_is_not_kept(cluster: Cluster, client_for: Browsers) -> None:
    page = client_for("operator").get(f"{WRITING}&topology=standby:1").content.decode()

    assert "checked" in radio(page, "primary")


def test_another_ones_run_is_no_model(cluster: Cluster, other_organisation: Organisation, client_for: Browsers) -> None:
    run = made_run(cluster, note="a secret plan")

    answer = client_for("operator", of=other_organisation).get(f"/o/rival/benchmarks/new/?run={run.pk}")

    assert answer.status_code == 200
    assert "a secret plan" not in answer.content.decode()
    assert client_for("admin", of=other_organisation).get("/o/rival/benchmarks/new/?cluster=orders").status_code == 404


@pytest.mark.parametrize(("role", "offered"), [("admin", True), ("operator", False)])
def test_where_load_is_not_allowed_it_says_who_can_allow_it(
    cluster: Cluster, client_for: Browsers, role: str, offered: bool
) -> None:
    BenchmarkAccess.objects.update(is_on=False)
    browser = client_for(role)

    answer = browser.get(ORDERS)

    assert "Orders may not be put under load" in text_of(answer)
    assert ("/o/acme/clusters/orders/benchmarks/allow/" in answer.content.decode()) is offered
    assert browser.post(ORDERS, filled()).status_code == 409
    assert not BenchmarkRun.objects.exists()


def test_nothing_is_started_where_nothing_may_be_written(cluster: Cluster, client_for: Browsers) -> None:
    Cluster.objects.update(is_observe_only=True)
    operator = client_for("operator")

    asked, posted = operator.get(ORDERS), operator.post(ORDERS, filled())

    assert "Orders is observe only" in text_of(asked)
    assert (posted.status_code, "Orders is observe only" in text_of(posted)) == (409, True)
    assert not BenchmarkRun.objects.exists()


def test_a_viewer_starts_nothing(cluster: Cluster, client_for: Browsers) -> None:
    viewer = client_for("viewer")

    assert viewer.get(ORDERS).status_code == 403
    assert viewer.post(ORDERS, filled()).status_code == 403
    assert NEW not in viewer.get("/o/acme/benchmarks/").content.decode()
    assert not BenchmarkRun.objects.exists()
