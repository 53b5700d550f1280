"""The protection of a connection, in words."""

from __future__ import annotations

from datetime import datetime

import gcom
from gcom_chat.model.texts.words import translate


def protection_text(found: gcom.Protection) -> str:
    """Return who one is there, and how the connection is protected."""
    if found.kind == "local" or found.valid_until_s is None:
        return translate(
            "protection",
            "You are {}. The registry is on this machine: nothing leaves it, and a secret of yours keeps "
            "other users of it out.",
        ).format(found.name)
    return translate(
        "protection",
        "You are {} by a certificate that is valid until {}. Calls are encrypted by TLS 1.3, and both ends show their "
        "certificates, of the authority {}.",
    ).format(found.name, f"{datetime.fromtimestamp(found.valid_until_s):%Y-%m-%d %H:%M}", _short(found.fingerprint))


def _short(fingerprint: str) -> str:
    """Return the beginning of a fingerprint, as people compare it."""
    return ":".join(fingerprint[at : at + 4] for at in range(0, 16, 4)) + "…"
