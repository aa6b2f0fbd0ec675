"""The form that registers a cluster: the role, the pgpools, the backends that were found, the name."""

import re
from collections.abc import Mapping
from typing import Any

from django import forms
from django.http import QueryDict

from apps.clusters.forms import fields
from apps.clusters.forms.backends import BackendForm
from apps.clusters.forms.pgpools import PgpoolForm
from apps.clusters.forms.refusals import beside, sentence
from apps.clusters.registry.cluster_wanted import MOST_BACKENDS, MOST_PGPOOLS, ClusterWanted, too_many


class ClusterForm(forms.Form):
    name = fields.text("Name", max_length=120, placeholder="orders")
    slug = forms.SlugField(
        label="Name in addresses",
        max_length=60,
        required=False,
        help_text="made from the name when left empty",
        widget=forms.TextInput({"class": "in", "autocomplete": "off", "spellcheck": "false"}),
    )
    username = fields.role_name()
    password = fields.secret("Password", hint="stored encrypted and never shown again")
    sslmode = fields.sslmode()
    has_synthetic_azs = forms.BooleanField(
        required=False, label="The zones are made up: everything runs on one machine"
    )
    is_observe_only = forms.BooleanField(required=False, label="Observe only: never write to any pgpool of it")


class RegistrationForm:
    """Several forms under one button. Rows are found by their names, so that one can be added without a script."""

    def __init__(self, data: QueryDict | None, *, organisation_slug: str, needs_name: bool = True) -> None:
        self.data = data
        self.organisation_slug = organisation_slug
        self.cluster = ClusterForm(data, initial={"sslmode": "prefer"})
        self.cluster.fields["name"].required = needs_name
        self.pgpools = [self._pgpool(position) for position in rows(data, "pgpool", "host") or [0]]
        self.backends = [BackendForm(data, node_id=node_id) for node_id in rows(data, "backend", "az")]
        self.other_errors: list[str] = []

    @classmethod
    def draft(cls, data: QueryDict, *, organisation_slug: str) -> "RegistrationForm":
        """What was typed so far with one more pgpool, not judged yet. Passwords are gone."""
        form = cls(data, organisation_slug=organisation_slug)
        form.cluster = ClusterForm(initial=_typed(form.cluster))
        form.pgpools = [form._pgpool(each.number - 1, typed=_typed(each)) for each in form.pgpools]
        form.backends = [BackendForm(node_id=each.node_id, initial=_typed(each)) for each in form.backends]
        form.add_pgpool()
        return form

    def add_pgpool(self) -> PgpoolForm:
        """An empty row after the others, up to a number that no cluster reaches."""
        position = max((each.number for each in self.pgpools), default=0)
        if position >= MOST_PGPOOLS:
            return self.pgpools[-1]
        row = self._pgpool(position, typed={"port": 9999})
        self.pgpools.append(row)
        return row

    def _pgpool(self, position: int, typed: Mapping[str, Any] | None = None) -> PgpoolForm:
        return PgpoolForm(
            None if typed is not None else self.data,
            initial=typed if typed is not None else {"port": 9999},
            prefix=f"pgpool-{position}",
            organisation=self.organisation_slug,
            number=position + 1,
            # A further row may be left empty.
            use_required_attribute=position == 0,
        )

    @property
    def given_pgpools(self) -> list[PgpoolForm]:
        first, *others = self.pgpools
        return [first, *(each for each in others if not each.is_blank)]

    def is_valid(self) -> bool:
        self.other_errors = [
            sentence(error) for error in too_many(pgpools=len(self.given_pgpools), backends=len(self.backends)).values()
        ]
        are_valid = [part.is_valid() for part in self._parts]  # each is looked at, for its errors
        return not self.other_errors and all(are_valid)

    @property
    def _parts(self) -> list[forms.Form]:
        return [self.cluster, *self.given_pgpools, *self.backends]

    @property
    def has_errors(self) -> bool:
        return any(part.is_bound and part.errors for part in self._parts)

    @property
    def problems(self) -> list[str]:
        """Every error with its field in words, for where the fields themselves are not drawn again."""
        parts: list[tuple[str, forms.Form]] = [("", self.cluster)]
        parts += [(f"Pgpool {each.number}: ", each) for each in self.given_pgpools]
        parts += [(f"Backend {each.node_id}: ", each) for each in self.backends]
        return self.other_errors + [
            f"{of}{part.fields[name].label}: {' '.join(map(str, errors))}"
            for of, part in parts
            for name, errors in part.errors.items()
        ]

    def wanted(self) -> ClusterWanted:
        given = self.cluster.cleaned_data
        return ClusterWanted(
            name=given["name"],
            slug=given["slug"],
            username=given["username"],
            password=given["password"],
            sslmode=given["sslmode"],
            has_synthetic_azs=given["has_synthetic_azs"],
            is_observe_only=given["is_observe_only"],
            pgpools=tuple(each.wanted() for each in self.given_pgpools),
            backends=tuple(each.wanted() for each in self.backends),
        )

    def refuse(self, errors: Mapping[str, str]) -> None:
        """Put what a story refused beside the fields it names: pgpools.0.host, slug, backends.1.node_id."""
        for name, message in errors.items():
            if not self._refuse_field(name, message):
                self.other_errors.append(sentence(message))

    def _refuse_field(self, name: str, message: str) -> bool:
        match name.split(".", 2):
            case ["pgpools", position, field] if position.isdigit() and int(position) < len(self.given_pgpools):
                return not self.given_pgpools[int(position)].refuse({field: message})
            case ["backends", position, field] if position.isdigit() and int(position) < len(self.backends):
                return beside(self.backends[int(position)], "az" if field == "az" else "address", message)
            case [field]:
                return beside(self.cluster, field, message)
        return False


def rows(data: QueryDict | None, kind: str, field: str) -> list[int]:
    """Numbers of the rows in the data: pgpool-2-host -> 2."""
    pattern = re.compile(rf"{kind}-([0-9]{{1,3}})-{field}")
    found = {int(match[1]) for name in data or () if (match := pattern.fullmatch(name))}
    # One more than a cluster can have, so that it is refused and not left out.
    return sorted(found)[: max(MOST_PGPOOLS, MOST_BACKENDS) + 1]


def _typed(form: forms.Form) -> dict[str, Any]:
    return {name: form[name].data for name in form.fields}
