"""Keys of SSH as text: made, read, told by their fingerprints."""

from __future__ import annotations

from dataclasses import dataclass, field

import asyncssh

LONGEST_KEY = 20_000


@dataclass(frozen=True)
class KeyPair:
    """private: in OpenSSH's format, without a passphrase; public: as one line of authorized_keys."""

    private: str = field(repr=False)
    public: str


class KeyRefused(ValueError):
    """This text is no private key that can be used."""


def new_key(comment: str) -> KeyPair:
    return _pair(asyncssh.generate_private_key("ssh-ed25519", comment=comment))


def given_key(text: str, *, comment: str) -> KeyPair:
    """A private key that somebody has pasted. Raises KeyRefused, which never repeats any of it."""
    if len(text) > LONGEST_KEY or "\0" in text:
        raise KeyRefused("this is no private key of SSH: it is longer than any")
    try:
        key = asyncssh.import_private_key(text)
    except asyncssh.KeyEncryptionError:
        raise KeyRefused("this key has a passphrase, which nobody could type: ssh-keygen -p -N '' removes it") from None
    except (asyncssh.KeyImportError, ValueError):
        raise KeyRefused("this is no private key of SSH: give the whole file, from -----BEGIN to END-----") from None
    key.set_comment(comment)
    return _pair(key)


def _pair(key: asyncssh.SSHKey) -> KeyPair:
    return KeyPair(key.export_private_key("openssh").decode(), public_line(key))


def public_line(key: asyncssh.SSHKey) -> str:
    return key.export_public_key("openssh").decode().strip()


def fingerprint(line: str) -> str:
    """SHA256:… of a public key, as ssh-keygen -lf prints it; empty where the text is none."""
    try:
        return asyncssh.import_public_key(line).get_fingerprint()
    except (asyncssh.KeyImportError, ValueError):
        return ""
