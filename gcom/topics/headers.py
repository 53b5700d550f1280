"""Headers of a message as bytes: names and values of text, encoded as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping

from gcom.errors import BadValue
from gcom.topics.values import HEADERS_BYTES_MAX, encoded


def encode(headers: Mapping[str, str] | None) -> bytes:
    """Return headers as bytes; raise BadValue for other values than text, or for too many."""
    if not headers:
        return b""
    for name, value in headers.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise BadValue(f"headers must be text to text; got {name!r:.40}: {value!r:.40}")
    data = encoded(json.dumps(dict(headers), ensure_ascii=False, separators=(",", ":"), sort_keys=True))
    if len(data) > HEADERS_BYTES_MAX:
        raise BadValue(f"headers have at most {HEADERS_BYTES_MAX} bytes; got {len(data)}")
    return data


def decode(data: bytes) -> dict[str, str]:
    """Return the headers in bytes that `encode` made."""
    return {str(name): str(value) for name, value in json.loads(data).items()} if data else {}
