"""Invitations: one line that lets another machine get its certificate.

    gcom1/192.0.2.1:7411/alice/FINGERPRINT/SECRET

It has no character that a shell would change. The fingerprint, of the authority's certificate, lets the guest know the
registry; the secret, which works once, lets the registry know the guest. The last word ends with three bytes of a
checksum over all before it: a line that was mistyped, or changed by a chat, is known without asking anybody. Lines
of earlier versions, without a checksum, are read as well.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from dataclasses import dataclass

from gcom.errors import BadValue
from gcom.values import names
from gcom.values.names import Address

_FORM = "gcom1"
_FINGERPRINT_BYTES, _SECRET_BYTES, _CHECK_BYTES = 32, 18, 3
_LIFETIME = re.compile(r"([0-9]+(?:\.[0-9]+)?)(s|m|h|d)")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
DAYS_MAX = 30  # an invitation that is lost must be worth nothing some day


@dataclass(frozen=True, slots=True)
class Invitation:
    """The registry's address, the guest's name, the authority's fingerprint and the secret."""

    registry: Address
    name: str
    fingerprint: bytes
    secret: bytes

    def __str__(self) -> str:
        return "/".join((self._known, _text(self.secret + self.check)))

    @property
    def check(self) -> bytes:
        """The checksum: three bytes of a SHA-256 over all the rest."""
        return hashlib.sha256(self._known.encode() + self.secret).digest()[:_CHECK_BYTES]

    @property
    def _known(self) -> str:
        # Without the brackets of IPv6, which a shell takes for a pattern.
        place = names.place_of(self.registry).replace("[", "").replace("]", "")
        return "/".join((_FORM, place, names.escaped(self.name), _text(self.fingerprint)))


def parse(text: str) -> Invitation:
    """Return the invitation that a line says; raises BadValue."""
    parts = text.strip().split("/")
    if len(parts) != 5 or parts[0] != _FORM:
        raise BadValue(
            f"{text[:20]!r} is no invitation: expected {_FORM}/HOST:PORT/NAME/FINGERPRINT/SECRET, in one line"
        )
    # From the right: an IPv6 address has colons of its own, and no brackets here.
    host, _, port = parts[1].rpartition(":")
    registry = names.address(f"[{host}]:{port}" if ":" in host else parts[1])
    fingerprint = _bytes("fingerprint", parts[3], _FINGERPRINT_BYTES)
    last = _bytes("secret", parts[4], _SECRET_BYTES, _SECRET_BYTES + _CHECK_BYTES)
    found = Invitation(registry, names.unescaped(parts[2]), fingerprint, last[:_SECRET_BYTES])
    if last[_SECRET_BYTES:] not in (b"", found.check):
        raise BadValue(
            "this invitation is mistyped: its checksum does not fit, so at least one character is not as it was "
            "printed. Copy the whole line; it was not used"
        )
    return found


def lifetime_s(text: str) -> float:
    """Return the seconds of `90s`, `30m`, `1h` or `2d`; raises BadValue."""
    found = _LIFETIME.fullmatch(text.strip())
    seconds = float(found[1]) * _SECONDS[found[2]] if found else 0.0
    # 0 as well: an invitation that is over when it is printed is a mistake.
    if not 0 < seconds <= DAYS_MAX * 86400:
        raise BadValue(f"{text!r} is no time of up to {DAYS_MAX} days: write 30m, 1h or 2d")
    return seconds


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _bytes(what: str, text: str, *lengths: int) -> bytes:
    try:
        # Strictly, so that a character that a mail program put in is noticed here, and not as a secret that nobody
        # knows.
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadValue(f"the {what} in this invitation is damaged, or mistyped: copy the whole line") from error
    if len(data) not in lengths:
        raise BadValue(f"the {what} in this invitation is cut off, or mistyped: copy the whole line")
    return data
