"""Makes somebody a member of an organisation."""

import json
import secrets
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.core.validators import validate_email, validate_slug

from apps.accounts.members import create_member, create_organisation
from apps.accounts.models import Organisation
from apps.accounts.roles import Role


class Command(BaseCommand):
    help = "Make somebody a member of an organisation, or change a member's role or password."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--email", required=True)
        parser.add_argument("--organisation", required=True, metavar="SLUG")
        parser.add_argument("--role", required=True, choices=Role.values)
        parser.add_argument("--create-organisation", metavar="NAME", help="make it under this name if there is none")
        password = parser.add_mutually_exclusive_group()
        password.add_argument("--password-stdin", action="store_true", help="read the password from standard input")
        password.add_argument("--generate", action="store_true", help="make a password up and print it")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, **options: Any) -> None:
        password = None
        if options["password_stdin"]:
            password = sys.stdin.readline().rstrip("\n")
        elif options["generate"]:
            password = secrets.token_urlsafe(15)
        try:
            validate_email(options["email"])
            made = create_member(
                organisation=_organisation(options["organisation"], options["create_organisation"]),
                email=options["email"],
                role=options["role"],
                password=password,
            )
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        shown = {
            "email": made.membership.user.email,
            "organisation": made.membership.organisation.slug,
            "role": made.membership.role,
            "is_new": made.is_new_member,
            "password": password if options["generate"] else None,
        }
        if options["json"]:
            self.stdout.write(json.dumps(shown))
            return
        self.stdout.write(f"{shown['email']} is {shown['role']} of {shown['organisation']}.")
        if options["generate"]:
            self.stdout.write(f"Password: {password}")


def _organisation(slug: str, name: str | None) -> Organisation:
    if name:
        validate_slug(slug)
        return create_organisation(slug=slug, name=name)
    organisation = Organisation.objects.filter(slug=slug).first()
    if organisation is None:
        raise CommandError(f"There is no organisation {slug}; make it with --create-organisation NAME.")
    return organisation
