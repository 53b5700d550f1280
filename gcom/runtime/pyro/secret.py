"""The proof on loopback that both ends of a connection are of one user (docs/protocols/security.md).

    caller  CONNECT    nonce of the caller, object
    server  CONNECTOK  nonce of the server, its proof
    caller  CONNECT    the caller's proof
    server  CONNECTOK  welcome, as to a stock proxy

A proof is an HMAC under the user's secret over both nonces, the object and both ends' ports. The ports stop a relay:
another user may listen at a freed port and forward what both sides say, but the ports of its connections differ.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Any

from gcom.certificates import user_secret

NONCE_BYTES = 32  # never drawn twice by chance, so no proof can be used again
# A word for each side. With one for both, whoever listens could send the caller's own proof back to it as the server's.
_SERVER, _CALLER = b"gcom server", b"gcom caller"


class UserSecret:
    """The user's secret; both sides of a connection on loopback have one. Raises BadValue."""

    def __init__(self, secret: bytes | None = None) -> None:
        """Take the secret of this user, unless another is given."""
        self._secret = user_secret.read() if secret is None else secret

    def proof(self, side: bytes, exchange: Exchange) -> bytes:
        return hmac.digest(self._secret, exchange.transcript(side), hashlib.sha256)

    def derive(self, purpose: bytes) -> bytes:
        """Return a key for one purpose, which tells nothing of the secret."""
        return hmac.digest(self._secret, purpose, hashlib.sha256)

    def __repr__(self) -> str:
        return "<the user's secret>"


class Exchange:
    """The nonces, addresses and object that the proofs of one handshake cover."""

    def __init__(self, caller: Any, server: Any, object_id: str, nonce: bytes) -> None:
        """Take the socket names of both ends, and the caller's nonce."""
        self._about = f"{caller[0]} {caller[1]} {server[0]} {server[1]} {object_id}".encode()
        self._nonces = nonce
        self.answer = b""

    def challenge(self, secret: UserSecret) -> dict[str, bytes]:
        """Return the server's answer to a caller's nonce."""
        self.answer = secrets.token_bytes(NONCE_BYTES)
        return {"challenge": self.answer, "proof": secret.proof(_SERVER, self)}

    def verify_server(self, secret: UserSecret, answer: object) -> bool:
        """Tell whether a server's answer proves that it knows the secret."""
        match answer:
            # A nonce of another length could move the borders of what the proof is over.
            case {"challenge": bytes() as nonce, "proof": bytes() as proof} if len(nonce) == NONCE_BYTES:
                self.answer = nonce
                return hmac.compare_digest(proof, secret.proof(_SERVER, self))
        return False

    def own_proof(self, secret: UserSecret) -> dict[str, bytes]:
        """Return the caller's proof."""
        return {"proof": secret.proof(_CALLER, self)}

    def verify_caller(self, secret: UserSecret, answer: object) -> bool:
        """Tell whether a caller's answer to the challenge proves that it knows the secret."""
        match answer:
            case {"proof": bytes() as proof}:
                return hmac.compare_digest(proof, secret.proof(_CALLER, self))
        return False

    def transcript(self, side: bytes) -> bytes:
        """Return the bytes that a side's proof is over: parts of fixed length, then the rest."""
        return hashlib.sha256(side).digest() + self._nonces + self.answer + self._about


def new_nonce() -> bytes:
    return secrets.token_bytes(NONCE_BYTES)
