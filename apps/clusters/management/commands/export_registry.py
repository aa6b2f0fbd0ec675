"""Prints what an organisation has registered as YAML, without secrets."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.accounts.models import Organisation
from apps.clusters.registry.registry_export import export_yaml


class Command(BaseCommand):
    help = "Print the clusters of an organisation as YAML; import_registry reads it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("organisation", metavar="ORGANISATION", help="its slug")

    def handle(self, **options: Any) -> None:
        organisation = Organisation.objects.filter(slug=options["organisation"]).first()
        if organisation is None:
            raise CommandError(f"There is no organisation {options['organisation']}.")
        self.stdout.write(export_yaml(organisation), ending="")
