"""The audit trail as people read it: a sentence for every action, and what changed as a list."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from django.test import Client

from apps.accounts import audit_words
from apps.accounts.models import AuditEntry, Organisation

NB = "\u00a0"
PGPOOL = {"name": "pgpool-1", "port": 9999, "az": "", "pcp": {"port": 9898, "user": "pcp"}, "is_local": False}
WEIGHTS = {"pgpool-1": {"0": 0, "1": 3}, "pgpool-2": {"0": 0, "1": 3}}


def entry(action: str, target: str = "orders", before: object = None, after: object = None) -> AuditEntry:
    return AuditEntry(action=action, target_name=target, before=before, after=after)


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        (
            entry("cluster.register", after={"name": "Orders", "pgpools": [PGPOOL] * 3}),
            "Registered cluster Orders with 3 pgpools",
        ),
        (
            entry("cluster.remove", before={"name": "Orders", "pgpools": [PGPOOL]}),
            "Removed cluster Orders with 1 pgpool",
        ),
        (
            entry("cluster.change", before={"name": "Order"}, after={"name": "Orders", "password": "changed"}),
            "Changed cluster orders: name, password",
        ),
        (entry("cluster.pgpool.add", "orders/pgpool-2", after=PGPOOL), "Added pgpool orders/pgpool-2"),
        (
            entry("parameters.requested", after={"parameters": ["max_pool", "port"]}),
            "Started a rollout of parameters on orders: max_pool, port",
        ),
        (
            entry("weights.requested", after={"weights": WEIGHTS}),
            "Started a rollout of new weights on orders: 0 / 3 on pgpool-1, pgpool-2",
        ),
        (
            entry("weights.requested", after={"shares": "pg1 0 %, pg2 100 %", "weights": WEIGHTS}),
            "Started a rollout of new weights on orders: pg1 0 %, pg2 100 %",
        ),
        (entry("rollout.rollback_requested", after={"rollout": 7}), "Started a rollback on orders, as rollout #7"),
        (entry("token.created", "ci", after={"scope": "read"}), "Made the token ci, which may read"),
        (entry("member.added", "a@b.example", after={"role": "viewer"}), "Made a@b.example a member as viewer"),
        (
            entry("member.changed", "a@b.example", before={"role": "viewer"}, after={"role": "admin"}),
            "Changed the role of a@b.example to admin",
        ),
        (entry("moon.landed", "moon"), "moon.landed: moon"),
    ],
)
def test_what_was_done_is_a_sentence(row: AuditEntry, sentence: str) -> None:
    assert audit_words.sentence(row) == sentence


def test_every_action_that_is_recorded_has_its_words() -> None:
    sources = "".join(path.read_text() for path in Path("apps").rglob("*.py") if path.name != "audit_words.py")
    given = " ".join(re.findall(r"\baction=.*|ConfigRevision\.Origin\.[A-Z]+: .*", sources))
    recorded = set(re.findall(r'"([a-z_]+\.[a-z_]+)"', given)) | {"cluster.pgpool.add", "cluster.pgpool.remove"}

    assert {"cluster.register", "rollout.rollback_requested", "member.changed"} <= recorded
    for action in recorded:
        assert not audit_words.sentence(entry(action)).startswith(action)


def test_what_changed_is_a_line_for_each_thing_before_and_after() -> None:
    found = audit_words.shown(
        entry("cluster.change", before={"pgpools": [PGPOOL]}, after={"pgpools": [PGPOOL, "gone"], "delivery_kind": ""})
    )

    line = f"name{NB}pgpool-1, port{NB}9999, pcp{NB}(port{NB}9898, user{NB}pcp), is{NB}local{NB}no"
    assert [(each.name, each.before, each.after) for each in found.changes] == [
        ("pgpools", (line,), (line, "gone")),
        ("delivery kind", (), ("–",)),
    ]


def test_weights_that_differ_are_told_by_pgpool() -> None:
    row = entry("weights.requested", after={"weights": {"a": {"0": 0, "1": 3}, "b": {"0": 1, "1": 3}}, "note": None})

    weights, note = audit_words.shown(row).changes

    assert (weights.after, note.after) == (("0 / 3 on a; 1 / 3 on b",), ("–",))


@pytest.mark.django_db
def test_the_page_tells_the_sentence_and_keeps_the_rest_behind_a_fold(
    client_for: Callable[..., Client], organisation: Organisation
) -> None:
    AuditEntry.objects.create(
        organisation=organisation,
        actor_name="Maja",
        action="cluster.register",
        target_type="cluster",
        target_id="7",
        target_name="orders",
        after={"name": "<Orders>", "pgpools": [PGPOOL]},
    )

    page = client_for("admin").get("/o/acme/settings/audit/").content.decode()

    shown, folded = page.split("<details><summary>Before and after</summary>")
    assert "Registered cluster &lt;Orders&gt; with 1 pgpool" in shown
    assert f"name{NB}pgpool-1, port{NB}9999" in folded
    assert "{" not in folded.split("</details>")[0]
