"""Settings of a registry: each by a flag, else by GCOM_SERVE_*, else by a TOML file, else its default.

Every value remembers where it came from, so that an error can name the place to mend, and `gcom-registry config` can
show it. A key that nothing knows is an error: a setting that is misspelt would else be one that silently does not hold.
The variables have a prefix of their own, as a member's GCOM_LISTEN may stand in the same shell; its certificate is told
to both by GCOM_TLS_*.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from platformdirs import user_config_dir, user_data_dir

from gcom.errors import BadValue
from gcom.runtime import pyro

FILE = "registry.toml"
PREFIX = "GCOM_SERVE_"
TLS_PREFIX = "GCOM_"  # of GCOM_TLS_CERT, which members read as well
NONE = "none"
NOTICE = "NOTICE"  # the name of the log's level for what an operator is to see, though nothing is amiss
CONFIG = f"{PREFIX}CONFIG"
FILE_BYTES_MAX = 64 * 1024
Origin = Literal["flag", "environment", "file", "default"]


class BadConfiguration(BadValue):
    """A setting that is wrong in the environment or in a file; the exit status is EX_CONFIG."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A value as text. `where`: the flag, the variable or the file that it is from; empty for a default."""

    value: str
    origin: Origin
    where: str = ""

    def wrong(self, key: str, reason: object) -> BadValue:
        """Return the error for a value that is not allowed, with the place to mend."""
        if self.origin in ("flag", "default"):
            return BadValue(str(reason))
        place = f"{self.where}: {key}" if self.origin == "file" else self.where
        return BadConfiguration(f"{place}: {reason}")


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > 65535:
        raise BadValue(f"port {text!r} is not 0 to 65535")
    return int(text)


def _word(what: str, *allowed: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text.lower() not in allowed:
            raise BadValue(f"{what} {text!r} is not one of {', '.join(allowed)}")
        return text.lower()

    return read


@dataclass(frozen=True, slots=True)
class Key:
    """A setting that there is. `read` returns the value that a text means, or raises BadValue. `flag`: but for `--`."""

    default: str
    read: Callable[[str], Any] = str
    flag: str = ""


def _or_none(text: str) -> str | None:
    return text or None


KEYS: dict[str, Key] = {
    "listen": Key("", _or_none),
    "advertise": Key("", _or_none),
    "tls_cert": Key("", _or_none, "cert"),
    "tls_key": Key("", _or_none, "key"),
    "tls_ca": Key("", _or_none, "ca"),
    "host": Key("127.0.0.1"),
    "port": Key("7411", _port),
    "data": Key("", _or_none),
    "metrics": Key("", _or_none),
    "log_format": Key("text", _word("log format", "text", "json")),
    "log_level": Key("notice", _word("log level", "debug", "info", NOTICE.lower(), "warning", "error")),
}


@dataclass(frozen=True, slots=True)
class RegistrySettings:
    """All settings. `chosen`: each as text, and its origin.

    `place`: where it listens, by `listen` or by `host` and `port`. `data`: the folder of what is kept, None for
    nothing. `authority`: the folder of the authority that signs its certificates, if it needs one.
    """

    listen: str | None
    advertise: str | None
    tls_cert: str | None
    tls_key: str | None
    tls_ca: str | None
    metrics: str | None
    log_format: str
    log_level: str
    place: pyro.Place
    data: Path | None
    authority: Path
    chosen: Mapping[str, Setting]

    def wrong(self, reason: object) -> BadValue:
        """Return the error of a registry that cannot start with these, though each is well-formed."""
        places = [
            f"{key} is from {it.where}" for key, it in self.chosen.items() if it.origin in ("environment", "file")
        ]
        return BadConfiguration(f"{reason} ({'; '.join(places)})") if places else BadValue(str(reason))


def load(flags: Mapping[str, str | None], environment: Mapping[str, str], file: str | None = None) -> RegistrySettings:
    """Return the settings out of flags, environment and file. Raises BadValue for a flag, BadConfiguration for others.

    `file` is the one that was asked for, and must be there; without one that of `settings_file` is read, if it is.
    """
    chosen = {key: Setting(it.default, "default") for key, it in KEYS.items()}
    chosen |= _of_file(file, environment)
    chosen |= _of_environment(environment)
    given = {key: value for key, value in flags.items() if value is not None}
    chosen |= {key: Setting(value, "flag", _flag(key)) for key, value in given.items()}
    values = {key: _read(key, setting) for key, setting in chosen.items()}
    host, port, kept = values.pop("host"), values.pop("port"), values.pop("data")
    try:
        place = pyro.place(values["listen"] or host, values["advertise"], port)
    except BadValue as error:
        wrong = "advertise" if chosen["listen"].origin == "default" else "listen"
        raise chosen[wrong].wrong(wrong, error) from error
    data = _folder(kept, place.ports[0])
    shown = {**chosen, "data": replace(chosen["data"], value=str(data or NONE))}
    return RegistrySettings(**values, place=place, data=data, authority=_authority(kept), chosen=shown)


def settings_file(file: str | None, environment: Mapping[str, str]) -> tuple[Path | None, bool]:
    """Return the file to read, if any, and whether it was asked for: by --config or its variable, else the user's."""
    asked = file or environment.get(CONFIG)
    if asked == NONE:
        return None, True
    return (Path(asked), True) if asked else (Path(user_config_dir("gcom", appauthor=False)) / FILE, False)


def _read(key: str, setting: Setting) -> Any:
    try:
        return KEYS[key].read(setting.value)
    except BadValue as error:
        raise setting.wrong(key, error) from error


def _of_environment(environment: Mapping[str, str]) -> dict[str, Setting]:
    variables = {_variable(key): key for key in KEYS}
    known = {*variables, CONFIG}
    for name in environment:
        if name.startswith(PREFIX) and name not in known:
            raise BadConfiguration(f"{name} in the environment is no setting{_suggestion(name, variables)}")
    return {
        key: Setting(environment[name], "environment", name) for name, key in variables.items() if name in environment
    }


def _of_file(file: str | None, environment: Mapping[str, str]) -> dict[str, Setting]:
    path, asked = settings_file(file, environment)
    found: dict[str, Setting] = {}
    for key, value in _parsed(path, asked).items() if path else ():
        if key not in KEYS:
            raise BadConfiguration(f"{path}: {key!r} is no setting{_suggestion(key, KEYS)}")
        if type(value) not in (str, int):
            raise BadConfiguration(f"{path}: {key} must be a text or a whole number, got {value!r}")
        found[key] = Setting(str(value), "file", str(path))
    return found


def _parsed(path: Path, asked: bool) -> dict[str, Any]:
    try:
        with path.open("rb") as stream:
            text = stream.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        if isinstance(error, FileNotFoundError | NotADirectoryError) and not asked:
            return {}
        raise BadConfiguration(f"settings file {str(path)!r} cannot be read: {error.strerror}") from error
    if len(text) > FILE_BYTES_MAX:
        raise BadConfiguration(f"settings file {str(path)!r} is over {FILE_BYTES_MAX} bytes")
    try:
        return tomllib.loads(text.decode())
    except ValueError as error:  # not UTF-8, or not TOML
        raise BadConfiguration(f"settings file {str(path)!r} is not TOML: {error}") from error


def _folder(data: str | None, port: int) -> Path | None:
    """Return the folder of what must outlive the registry: kept at a port that is always the same, unless refused."""
    if data == NONE or (data is None and not port):
        return None
    return Path(data) if data else _of_user() / f"registry-{port}"


def _authority(data: str | None) -> Path:
    """Return the folder of the authority: the user's own, or that of a registry with a folder of its own."""
    return Path(data) / "authority" if data and data != NONE else _of_user() / "authority"


def _of_user() -> Path:
    return Path(user_data_dir("gcom", appauthor=False))


def _suggestion(word: str, known: Iterable[str]) -> str:
    names = list(known)
    near = get_close_matches(word, names, n=1)
    return f": did you mean {near[0]}?" if near else f"; there are {', '.join(names)}"


def _variable(key: str) -> str:
    return f"{TLS_PREFIX if key.startswith('tls_') else PREFIX}{key.upper()}"


def _flag(key: str) -> str:
    return f"--{KEYS[key].flag or key.replace('_', '-')}"
