"""Secrets at rest: Fernet with rotating keys. A field of these holds ciphertext in the table and text in Python."""

from functools import lru_cache
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.db import models


class SecretUnreadable(ValueError):
    """A stored secret cannot be decrypted: none of LIFEGUARD_ENCRYPTION_KEYS made it."""


@lru_cache(maxsize=4)
def _keys(keys: tuple[str, ...]) -> MultiFernet:
    return MultiFernet([Fernet(key) for key in keys])


def encrypt(text: str) -> str:
    return _keys(tuple(settings.ENCRYPTION_KEYS)).encrypt(text.encode()).decode()


def decrypt(ciphertext: str) -> str:
    try:
        return _keys(tuple(settings.ENCRYPTION_KEYS)).decrypt(ciphertext.encode()).decode()
    except InvalidToken:
        raise SecretUnreadable(
            "a stored secret cannot be decrypted; add the key that encrypted it to LIFEGUARD_ENCRYPTION_KEYS"
        ) from None


def reencrypted(ciphertext: str) -> str:
    """The same secret under the newest key."""
    return encrypt(decrypt(ciphertext))


def is_newest(ciphertext: str) -> bool:
    """Whether the newest key encrypted it."""
    try:
        Fernet(settings.ENCRYPTION_KEYS[0]).decrypt(ciphertext.encode())
    except InvalidToken:
        return False
    return True


class EncryptedTextField(models.TextField):  # type: ignore[type-arg]  # not subscriptable at run time
    """Text that is ciphertext in the table; it cannot be searched, ordered or compared there."""

    def get_prep_value(self, value: Any) -> Any:
        return None if value is None else encrypt(str(value))

    def from_db_value(self, value: str | None, expression: object, connection: object) -> str | None:
        return None if value is None else decrypt(value)

    def get_lookup(self, lookup_name: str) -> Any:
        if lookup_name != "isnull":
            raise TypeError(f"an encrypted field cannot be looked up by {lookup_name}")
        return super().get_lookup(lookup_name)
