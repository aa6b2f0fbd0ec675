"""Encrypts every stored secret anew, with the newest key."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.accounts.encryption import SecretUnreadable
from apps.accounts.key_rotation import rotate_everything


class Command(BaseCommand):
    help = (
        "Encrypt every stored secret with the first of LIFEGUARD_ENCRYPTION_KEYS. "
        "Afterwards the other keys can be removed. Can be stopped and started again at any time."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON object per column")

    def handle(self, **options: Any) -> None:
        try:
            for column in rotate_everything():
                if options["json"]:
                    facts = {"table": column.table, "column": column.column, "secrets": column.secrets}
                    self.stdout.write(json.dumps({**facts, "rotated": column.rotated}))
                else:
                    self.stdout.write(f"{column.table}.{column.column}: {column.rotated} of {column.secrets} rotated")
        except SecretUnreadable as error:
            raise CommandError(str(error)) from error
