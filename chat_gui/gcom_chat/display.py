"""Checks of the system before Qt is started: Qt itself ends a process that has no display."""

from __future__ import annotations

import ctypes
import os
import sys

QT_LIBRARIES = "libegl1 libgl1 libxkbcommon0 libxkbcommon-x11-0 libdbus-1-3 libfontconfig1 libxcb-cursor0"
_HEADLESS = ("offscreen", "minimal", "vnc")


def advice() -> str:
    """Return what is missing and what to do about it; empty: a window can be shown."""
    # Behind a colon Qt's platforms have options of their own, as in "vnc:size=800x600".
    if not sys.platform.startswith("linux") or os.environ.get("QT_QPA_PLATFORM", "").split(":")[0] in _HEADLESS:
        return ""
    # A Wayland session may have no X display at all.
    if os.environ.get("WAYLAND_DISPLAY"):
        return ""
    if not os.environ.get("DISPLAY"):
        return (
            "there is no display (DISPLAY and WAYLAND_DISPLAY are empty): start it in a desktop session, or with a "
            "display in memory: apt-get install xvfb, then xvfb-run gcom-chat"
        )
    return _x11_advice(os.environ["DISPLAY"])


def _x11_advice(display: str) -> str:
    try:
        # Qt's plugin for X needs it since 6.5; where it is missing Qt ends the process, and no Python error says why.
        ctypes.CDLL("libxcb-cursor.so.0")
        xcb = ctypes.CDLL("libxcb.so.1")
    except OSError as error:
        return f"a library that Qt needs is missing ({error}): apt-get install {QT_LIBRARIES}"
    # ctypes takes each result for an int: the pointer would be cut to 32 bits.
    xcb.xcb_connect.restype = ctypes.c_void_p
    connection = ctypes.c_void_p(xcb.xcb_connect(None, None))
    answers = not xcb.xcb_connection_has_error(connection)
    # Where it failed as well: the object that holds the error is to be freed by its caller.
    xcb.xcb_disconnect(connection)
    return "" if answers else f"the display {display} does not answer: set DISPLAY to one that does, or use xvfb-run"


def import_advice(error: ImportError) -> str:
    """Return what to install where Qt cannot be loaded."""
    # The loader names the file of a library that is missing; for a package that is missing there is none.
    if ".so" in str(error):
        return f"a library that Qt needs is missing ({error}): apt-get install {QT_LIBRARIES}"
    return f"Qt cannot be loaded ({error}): pip install 'gcom[gui]'"
