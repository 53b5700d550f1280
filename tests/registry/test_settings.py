"""Settings: which place wins, what is refused, and the name of the place that is to be mended."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pytest

from gcom.errors import BadValue
from registry.operation import settings
from registry.operation.settings import BadConfiguration, load

EMPTY: dict[str, str] = {}


@pytest.fixture(autouse=True)
def no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user of a test has no settings of his own."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))


def written(folder: Path, text: str) -> str:
    path = folder / "registry.toml"
    path.write_text(text, "utf-8")
    return str(path)


@pytest.mark.parametrize(("flag", "variable", "line"), list(product((False, True), repeat=3)))
def test_a_flag_beats_the_environment_and_that_the_file(tmp_path: Path, flag: bool, variable: bool, line: bool) -> None:
    path = written(tmp_path, "port = 3" if line else "")
    found = load({"port": "1" if flag else None}, {"GCOM_SERVE_PORT": "2"} if variable else {}, path)
    places = [(flag, 1, "--port"), (variable, 2, "GCOM_SERVE_PORT"), (line, 3, path), (True, 7411, "")]
    value, where = next((value, where) for there, value, where in places if there)
    assert (found.place.ports, found.chosen["port"].where) == ((value,), where)


def test_the_file_of_the_user_is_read_where_none_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "gcom").mkdir()
    written(tmp_path / "gcom", "log_format = 'json'")
    assert load({}, EMPTY).log_format == "json"
    other = written(tmp_path, "")
    assert load({}, EMPTY, other).log_format == "text"
    assert load({}, {"GCOM_SERVE_CONFIG": other}).log_format == "text"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("prot = 1", "'prot' is no setting: did you mean port?"),
        ("zzz = 1", "'zzz' is no setting; there are listen, advertise, "),
        ("[port]\na = 1", "port must be a text or a whole number"),
        ("port = true", "port must be a text or a whole number"),
        ("port = 65536", "port: port '65536' is not 0 to 65535"),
        ("log_level = 'loud'", "log level 'loud' is not one of debug, info"),
        ("port = ", "is not TOML: Invalid value (at end of document)"),
        ("# " + "x" * settings.FILE_BYTES_MAX, "is over 65536 bytes"),
    ],
)
def test_a_file_that_is_wrong_is_named(tmp_path: Path, text: str, said: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(BadConfiguration, match=re.escape(said)) as raised:
        load({}, EMPTY, path)
    assert path in str(raised.value)


def test_a_file_that_was_asked_for_must_be_there(tmp_path: Path) -> None:
    for flag, environment in ((str(tmp_path / "x"), EMPTY), (None, {"GCOM_SERVE_CONFIG": str(tmp_path / "x")})):
        with pytest.raises(BadConfiguration, match="cannot be read: No such file"):
            load({}, environment, flag)


def test_a_variable_that_is_wrong_is_named() -> None:
    with pytest.raises(BadConfiguration, match=r"^GCOM_SERVE_PORT: port 'x' is not"):
        load({}, {"GCOM_SERVE_PORT": "x"})
    with pytest.raises(BadConfiguration, match=r"^GCOM_SERVE_PROT .* did you mean GCOM_SERVE_PORT\?"):
        load({}, {"GCOM_SERVE_PROT": "1"})


def test_a_flag_that_is_wrong_is_no_fault_of_the_configuration() -> None:
    with pytest.raises(BadValue, match="port 'x'") as raised:
        load({"port": "x"}, {"GCOM_SERVE_PORT": "y"})
    assert not isinstance(raised.value, BadConfiguration)


def test_variables_of_members_are_no_settings_but_for_the_certificate() -> None:
    found = load({}, {"GCOM_LISTEN": "0.0.0.0", "GCOM_REGISTRY": "10.0.0.1:1", "GCOM_TLS_CERT": "c", "GCOM_PORT": "x"})
    assert {key: it.value for key, it in found.chosen.items() if it.origin != "default"} == {"tls_cert": "c"}


def test_no_file_is_read_where_that_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "gcom").mkdir()
    written(tmp_path / "gcom", "prot = 1")
    assert load({}, EMPTY, "none").place.ports == (7411,)
    assert load({}, {"GCOM_SERVE_CONFIG": "none"}).place.ports == (7411,)


def test_the_folder_of_the_data_is_shown_as_it_will_be(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    kept = tmp_path / "gcom" / "registry-7500"
    cases: list[tuple[dict[str, str | None], Path | None]] = [
        ({"port": "7500"}, kept),
        ({"port": "0"}, None),
        ({"data": "none"}, None),
        ({"listen": "127.0.0.1:7500-7510"}, kept),
        ({"port": "0", "data": "names"}, Path("names")),
    ]
    for flags, folder in cases:
        found = load(flags, EMPTY)
        assert (found.data, found.chosen["data"].value) == (folder, str(folder or "none"))


def test_the_authority_is_beside_the_data_where_a_folder_was_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert load({"data": "names"}, EMPTY).authority == Path("names/authority")
    assert {load({"data": data}, EMPTY).authority for data in (None, "none")} == {tmp_path / "gcom" / "authority"}


def test_a_place_that_is_none_is_named_where_it_stands() -> None:
    for environment, said in (
        ({"GCOM_SERVE_LISTEN": "10.0.0.5:x"}, "^GCOM_SERVE_LISTEN: "),
        ({"GCOM_SERVE_ADVERTISE": ":1"}, "^GCOM_SERVE_ADVERTISE: "),
    ):
        with pytest.raises(BadConfiguration, match=said):
            load({}, environment)
