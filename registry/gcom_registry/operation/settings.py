"""The settings of a registry: each by flag, else by environment variable, else by a TOML file, else by default.

A key or a variable that nobody knows is an error: a limit that was misspelt, and silently not set, is found too late.
The variables begin with GCOM_SERVE_ and not with GCOM_REGISTRY_, which Kubernetes sets by itself for a service that is
called gcom-registry; those of certificates are the members' as well.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from gcom.certificates import private_files
from gcom.errors import BadValue
from gcom.runtime import pyro
from gcom.values.limits import DIRECTORY_GROUPS_MAX as GROUPS_MAX

PREFIX = "GCOM_SERVE_"
CONFIG_VARIABLE = f"{PREFIX}CONFIG"
FLAG, DEFAULT = "flag", "default"
LOG_FORMATS = ("text", "json")
LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")


class BadSettings(BadValue):
    """A setting that is wrong in a file or in the environment, where no usage text helps."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One of them. `check` raises BadValue."""

    key: str
    variable: str
    default: str
    meaning: str
    check: Callable[[str], object] = str

    @property
    def flag(self) -> str:
        return f"--{self.key.replace('_', '-')}"


@dataclass(frozen=True, slots=True)
class Value:
    """The value of a setting, empty where there is none, and where it came from."""

    text: str
    source: str


def _port(text: str) -> None:
    if not (text.isascii() and text.isdigit()) or int(text) > 65535:
        raise BadValue(f"port {text!r} is not 0 to 65535")


def _whole(least: int, most: int) -> Callable[[str], None]:
    def check(text: str) -> None:
        if not (text.isascii() and text.isdigit()) or not least <= int(text) <= most:
            raise BadValue(f"{text!r} is no whole number from {least} to {most}")

    return check


def _one_of(words: Iterable[str]) -> Callable[[str], None]:
    def check(text: str) -> None:
        if text not in words:
            raise BadValue(f"{text!r} is none of {', '.join(words)}{_suggested(text, words)}")

    return check


# One table for flags, variables and the file, so that a value is checked alike wherever it comes from. The flags'
# help is in options.py.
SETTINGS = (
    Setting("listen", f"{PREFIX}LISTEN", "", "where to listen for other machines: HOST[:PORT[-PORT]]", pyro.place),
    Setting("advertise", f"{PREFIX}ADVERTISE", "", "the address for others, where it is another: HOST[:PORT]"),
    Setting("cert", "GCOM_TLS_CERT", "", "a certificate of your own"),
    Setting("key", "GCOM_TLS_KEY", "", "its private key"),
    Setting("ca", "GCOM_TLS_CA", "", "its authority's certificate"),
    Setting("host", f"{PREFIX}HOST", "127.0.0.1", "the loopback address to listen on"),
    Setting("port", f"{PREFIX}PORT", "7411", "the port; 0 takes any free one", _port),
    Setting("data", f"{PREFIX}DATA", "", "the folder of names and votes; none keeps nothing"),
    Setting("rights", f"{PREFIX}RIGHTS", "", "the file of who may do what, off loopback"),
    Setting("groups_max", f"{PREFIX}GROUPS_MAX", f"{GROUPS_MAX}", "groups in all", _whole(1, GROUPS_MAX)),
    Setting("groups_each", f"{PREFIX}GROUPS_EACH", "500", "groups of one member, off loopback", _whole(1, GROUPS_MAX)),
    Setting(
        "empty_days", f"{PREFIX}EMPTY_DAYS", "7", "days until an empty group is removed; 0: never", _whole(0, 3650)
    ),
    Setting("metrics", f"{PREFIX}METRICS", "", "where to serve /metrics, /healthz and /readyz: [HOST:]PORT"),
    Setting("log_format", f"{PREFIX}LOG_FORMAT", "text", "text, or json: one object a line", _one_of(LOG_FORMATS)),
    Setting("log_level", f"{PREFIX}LOG_LEVEL", "WARNING", "the least that is logged", _one_of(LOG_LEVELS)),
)
KEYS = tuple(setting.key for setting in SETTINGS)


class ServiceSettings:
    """All of them, for one start. `file` is the TOML file that was read, or None."""

    def __init__(self, values: Mapping[str, Value], file: Path | None) -> None:
        self.values = dict(values)
        self.file = file

    def __getitem__(self, key: str) -> str:
        return self.values[key].text

    def get(self, key: str) -> str | None:
        """Return a setting, or None where there is none."""
        # Empty and missing are one: neither a variable nor a file has a word for none.
        return self.values[key].text or None


def settings(flags: Mapping[str, str | None], environment: Mapping[str, str] | None = None) -> ServiceSettings:
    """Return the settings by their sources; `flags` may have the file as `config`.

    Raises BadValue for a flag that is wrong, BadSettings for the rest.
    """
    environment = os.environ if environment is None else environment
    # First of all: a misspelt variable explains better than a port that is taken why it does not start.
    _refuse_unknown_variables(environment)
    file = _file(flags.get("config"), environment)
    in_file = _read(file) if file else {}
    values = {it.key: _value(it, flags.get(it.key), environment, in_file, file) for it in SETTINGS}
    for setting in SETTINGS:
        _check(setting, values[setting.key])
    return ServiceSettings(values, file)


def _value(
    setting: Setting, flag: str | None, environment: Mapping[str, str], in_file: Mapping[str, str], file: Path | None
) -> Value:
    if flag is not None:
        # From the nearest to the furthest: what is typed now, what this start was given, what is always so.
        return Value(flag, FLAG)
    # Empty counts as not set: container files often pass on a variable that nobody has filled in.
    if text := environment.get(setting.variable):
        return Value(text, setting.variable)
    if setting.key in in_file:
        return Value(in_file[setting.key], str(file))
    return Value(setting.default, DEFAULT)


def _check(setting: Setting, value: Value) -> None:
    # An empty default means that there is none; an empty flag was given, and is judged.
    if not value.text and value.source != FLAG:
        return
    try:
        setting.check(value.text)
    except BadValue as error:
        if value.source == FLAG:
            raise BadValue(f"{setting.flag}: {error}") from error
        raise BadSettings(f"{setting.key} of {value.source}: {error}") from error


def default_file() -> Path:
    """Return the file that is read where no other is named, if it is there."""
    return private_files.config_folder() / "registry.toml"


def _file(flag: str | None, environment: Mapping[str, str]) -> Path | None:
    named = flag or environment.get(CONFIG_VARIABLE)
    if named == "none":
        return None
    if named is None:
        # A file that is named must be there; the usual one need not.
        found = default_file()
        return found if found.is_file() else None
    return Path(named)


def _read(path: Path) -> dict[str, str]:
    """Return the keys of a file as texts; raises BadSettings."""
    try:
        with path.open("rb") as file:
            table = tomllib.load(file)
    except OSError as error:
        raise BadSettings(f"settings file {str(path)!r} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadSettings(f"settings file {str(path)!r} is not TOML: {error}") from error
    for key, value in table.items():
        if key not in KEYS:
            raise BadSettings(f"settings file {str(path)!r} has an unknown key {key!r}{_suggested(key, KEYS)}")
        # Python takes true for a number: as a port it would be 1.
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise BadSettings(f'{key} in settings file {str(path)!r} must be a text or a number: {key} = "…"')
    # As text, like a flag and a variable: one check serves all three.
    return {key: str(value) for key, value in table.items()}


def _refuse_unknown_variables(environment: Mapping[str, str]) -> None:
    known = [CONFIG_VARIABLE, *(setting.variable for setting in SETTINGS)]
    for name in sorted(environment):
        if name.startswith(PREFIX) and name not in known:
            raise BadSettings(f"environment variable {name} is none of a registry's{_suggested(name, known)}")


def _suggested(word: str, known: Iterable[str]) -> str:
    known = tuple(known)
    # People write keys as flags, and flags as keys.
    folded = {it.casefold().replace("-", "_"): it for it in known}
    near = difflib.get_close_matches(word.casefold().replace("-", "_"), folded, 1)
    return f": do you mean {folded[near[0]]!r}?" if near else f"; known are {', '.join(known)}"
