"""The settings of a registry: which source counts, and what is wrong with one that cannot be."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from gcom_registry import cli
from gcom_registry.operation.settings import KEYS, SETTINGS, BadSettings, Value, settings

from gcom.errors import BadValue
from tests.running import LIMIT_S

ROOT = Path(__file__).parents[2]


def written(folder: Path, text: str) -> str:
    path = folder / "settings.toml"
    path.write_text(text)
    return str(path)


def test_a_flag_counts_more_than_a_variable_more_than_a_file_more_than_the_default(tmp_path: Path) -> None:
    path = written(tmp_path, 'port = 1\ndata = "of the file"\nmetrics = "3"\n')
    environment = {"GCOM_SERVE_PORT": "2", "GCOM_SERVE_DATA": "of the variable", "GCOM_TLS_CERT": "c.pem"}
    found = settings({"config": path, "port": "3"}, environment).values
    assert found["port"] == Value("3", "flag")
    assert found["data"] == Value("of the variable", "GCOM_SERVE_DATA")
    assert found["cert"] == Value("c.pem", "GCOM_TLS_CERT")
    assert found["metrics"] == Value("3", path)
    assert found["host"] == Value("127.0.0.1", "default")


def test_the_users_own_file_is_read_where_it_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert settings({}, {}).file is None
    (tmp_path / "gcom").mkdir()
    (tmp_path / "gcom" / "registry.toml").write_text("port = 7500\n")
    assert settings({}, {})["port"] == "7500"
    assert settings({"config": "none"}, {})["port"] == "7411"
    assert settings({}, {"GCOM_SERVE_CONFIG": written(tmp_path, "port = 7501")})["port"] == "7501"


def test_an_empty_variable_is_none() -> None:
    found = settings({}, {"GCOM_SERVE_PORT": "", "GCOM_SERVE_LISTEN": ""})
    assert (found["port"], found.get("listen")) == ("7411", None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("prot = 1", "unknown key 'prot': do you mean 'port'?"),
        ("log-format = 'json'", "unknown key 'log-format': do you mean 'log_format'?"),
        ("zzz = 1", "unknown key 'zzz'; known are listen, "),
        ("[registry]\nport = 1", "unknown key 'registry'"),
        ("port = true", "port in settings file"),
        ("port = [1]", "must be a text or a number"),
        ("port = ", "is not TOML"),
        ("port = 70000", "port '70000' is not 0 to 65535"),
        ("log_format = 'xml'", "'xml' is none of text, json"),
        ("listen = ':1'", "names no host"),
    ],
)
def test_what_is_wrong_in_a_file_is_named_with_the_file(tmp_path: Path, text: str, said: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(BadSettings) as caught:
        settings({"config": path}, {})
    assert said in str(caught.value)
    assert path in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadSettings, match=r"nowhere\.toml' cannot be read: No such file"):
        settings({"config": str(tmp_path / "nowhere.toml")}, {})


def test_a_variable_that_is_none_of_ours_is_named() -> None:
    with pytest.raises(BadSettings, match="GCOM_SERVE_LOGFORMAT is none of a registry's: do you mean"):
        settings({}, {"GCOM_SERVE_LOGFORMAT": "json"})
    assert settings({}, {"GCOM_REGISTRY_PORT": "tcp://10.0.0.1:7411", "GCOM_FAULTS": ""})["port"] == "7411"


def test_a_wrong_flag_is_no_matter_of_settings() -> None:
    with pytest.raises(BadValue, match="--log-level: 'LOUD' is none of DEBUG") as caught:
        settings({"log_level": "LOUD"}, {})
    assert not isinstance(caught.value, BadSettings)


def test_each_is_a_flag_and_is_listed_in_the_documentation() -> None:
    assert set(KEYS) <= set(inspect.signature(cli.top).parameters)
    text = (ROOT / "docs" / "operating.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)` \| `(GCOM_\w+)` \| (?:`(\S+)` )?\| (.+) \|$", text, re.MULTILINE)
    assert rows == [(it.key, it.variable, it.default, it.meaning) for it in SETTINGS]


LOGGING = """
from loguru import logger
from gcom_registry.operation.logs import ServiceOutput
ServiceOutput("json", "INFO")
logger.debug("not this")
try:
    raise ValueError("no\\ngood")
except ValueError:
    logger.exception("it {}", "failed")
"""


def test_the_log_is_json_with_its_traceback() -> None:
    done = subprocess.run([sys.executable, "-c", LOGGING], cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S)
    row = json.loads(done.stderr)
    assert (done.returncode, row["level"], row["message"]) == (0, "ERROR", "it failed")
    assert row["traceback"].startswith("Traceback")
    assert "ValueError" in row["traceback"]
