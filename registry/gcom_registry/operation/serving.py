"""A registry from its start to its end, as its settings say; returns or exits with the status of the command."""

from __future__ import annotations

import signal
import socket
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import NoReturn

from gcom import __version__
from gcom.certificates import private_files
from gcom.errors import BadValue, GComError, StorageUnavailable, Unavailable
from gcom.runtime import pyro
from gcom_registry.operation.logs import ServiceOutput
from gcom_registry.operation.notify import notify, watchdog
from gcom_registry.operation.settings import BadSettings, ServiceSettings
from gcom_registry.quotas import DAY_S, GroupQuotas
from gcom_registry.rights_file import FILE, RightsFile
from gcom_registry.server import DRAIN_S, RegistryServer

# 69 and 78 are EX_UNAVAILABLE and EX_CONFIG of sysexits.h; a unit file can say that the latter is not worth a
# restart.
EXIT_FAILED, EXIT_USAGE, EXIT_NO_REGISTRY, EXIT_SETTINGS, EXIT_INTERRUPTED = 1, 2, 69, 78, 130


def serve(wanted: ServiceSettings) -> int:
    """Serve until a signal; return the exit status."""
    signals = _Signals()
    signals.catch(signal.SIGINT, signal.SIGTERM)
    # From now on: a signal during the start waits, and ends it in good order once it is ready.
    output = ServiceOutput(wanted["log_format"], wanted["log_level"])
    try:
        server = _server(wanted, output)
    except BadSettings as error:
        _complain(output, str(error), EXIT_SETTINGS)
    except BadValue as error:
        _complain(output, str(error), EXIT_USAGE)
    # Not of the settings, and it may pass: a unit starts the registry again.
    except StorageUnavailable as error:
        _complain(
            output, f"{error}. Nothing was lost: start it again once that is mended (gcom-registry doctor)", EXIT_FAILED
        )
    # The port is taken: by far the most common cause is a registry that runs already.
    except Unavailable as error:
        _complain(output, f"{error}. Is a registry running there already? --port 0 takes any free port", EXIT_FAILED)
    except GComError as error:
        _complain(output, str(error), EXIT_FAILED)
    if server.secure:  # on loopback there is nothing to read, and the end of its terminal ends it as ever
        signals.catch(signal.SIGHUP)
    with _metrics(server, wanted.get("metrics"), output), watchdog(lambda: server.stuck):
        return _run(server, signals, output)


class _Signals:
    """The signals that this process catches, in order. Made and used in the main thread."""

    def __init__(self) -> None:
        # A byte for each, by the C handler of whichever thread the kernel picks, and no queue that Python's handlers
        # fill: 1. The process is stopped, and is sent SIGTERM. 2. It goes on, and any of its threads takes the signal.
        # 3. Python's handler would run in the main thread, which waits, and which nothing wakes.
        self._receiver, self._sender = socket.socketpair()
        self._sender.setblocking(False)
        signal.set_wakeup_fd(self._sender.fileno())

    @staticmethod
    def catch(*numbers: int) -> None:
        for number in numbers:
            signal.signal(number, lambda *_: None)  # only a signal with a handler is told

    def next(self) -> int:
        """Wait for the next one, and return its number."""
        return self._receiver.recv(1)[0]


def authority_folder(data: str | None) -> Path:
    """Return the folder of the authority: the user's own, or that of a registry with a folder of its own."""
    if data and data != "none":
        return Path(data) / "authority"
    return private_files.data_folder() / "authority"


def rights_path(wanted: ServiceSettings) -> Path:
    """Return where the rules about rights are, or would be."""
    named = wanted.get("rights")
    return Path(named) if named else authority_folder(wanted.get("data")) / FILE


def data_folder(data: str | None, port: int) -> Path | None:
    """Return the folder of what must outlive the registry: kept at a port that is always the same, unless refused."""
    # A port that nobody knew before has no history: there is nothing to find in a folder.
    if data == "none" or (data is None and not port):
        return None
    return Path(data) if data else private_files.data_folder() / f"registry-{port}"


def place_of(wanted: ServiceSettings) -> pyro.Place:
    """Return where the registry listens; raises BadValue."""
    place = pyro.place(wanted.get("listen") or wanted["host"], wanted.get("advertise"), int(wanted["port"]))
    if not (pyro.is_loopback(place.host) or is_secure(wanted)):
        pyro.listenable(place.host, secure=True)  # a name that means nothing is said to be that
        raise BadValue(
            f"--host is for this machine alone, as 127.0.0.1, and {place.host!r} is not: to serve other machines, with "
            f"TLS, use --listen {place.host}"
        )
    return place


def own_certificate(wanted: ServiceSettings) -> tuple[str | None, str | None, str | None]:
    """Return the files of a certificate of the operator's own: certificate, key and authority."""
    return wanted.get("cert"), wanted.get("key"), wanted.get("ca")


def is_secure(wanted: ServiceSettings) -> bool:
    """Tell whether the registry speaks TLS; raises BadValue for settings that only then have a sense."""
    if wanted.get("listen") is not None or any(own_certificate(wanted)):
        return True
    if wanted.get("advertise") is not None:
        raise BadValue("--advertise is for --listen: on loopback the address is what it is")
    if wanted.get("rights") is not None:
        raise BadValue("--rights is for --listen: on loopback all are the same user, who may do everything")
    return False


def rights_file(wanted: ServiceSettings) -> RightsFile:
    """Return the rules about rights; raises BadSettings."""
    try:
        return RightsFile(rights_path(wanted), wanted=wanted.get("rights") is not None)
    except BadValue as error:
        raise BadSettings(str(error)) from error


def quotas(wanted: ServiceSettings) -> GroupQuotas:
    """Return the quotas of groups."""
    in_all, each, days = (int(wanted[key]) for key in ("groups_max", "groups_each", "empty_days"))
    return GroupQuotas(in_all, each, days * DAY_S)


def _server(wanted: ServiceSettings, output: ServiceOutput) -> RegistryServer:
    secure, place, data = is_secure(wanted), place_of(wanted), wanted.get("data")
    if not secure:
        folder = _folder(data, place.ports[0], output)
        return RegistryServer(place.host, place.ports[0], folder, quotas=quotas(wanted))
    from gcom_registry.secure import secure_server

    rights = rights_file(wanted)
    folder = _folder(data, place.ports[0], output)
    return secure_server(
        place, folder, authority_folder(data), own_certificate(wanted), output.tell, rights, quotas(wanted)
    )


def _folder(data: str | None, port: int, output: ServiceOutput) -> Path | None:
    # At a port that nobody knew before nothing is lost: no group can look for it there.
    if data == "none" and port:
        output.tell("it keeps nothing: after its end nobody can tell who has a name, nor let a group's rest go on")
    return data_folder(data, port)


def _metrics(server: RegistryServer, where: str | None, output: ServiceOutput) -> AbstractContextManager[object]:
    """Serve the registry's figures, if it is wanted, from before it is ready until it has ended."""
    if where is None:
        return nullcontext()
    from gcom_registry.operation.metrics import serve_metrics  # nobody else needs its library

    try:
        serving = serve_metrics(where, server.look)
    except (BadValue, Unavailable) as error:
        # It has its port and its disk by now, and nobody was told that it is ready.
        server.close()
        _complain(output, str(error), EXIT_USAGE if isinstance(error, BadValue) else EXIT_FAILED)
    output.tell(f"metrics at {serving.url}")
    return serving


def _run(server: RegistryServer, signals: _Signals, output: ServiceOutput) -> int:
    # The line comes when requests are answered, and not before: programs wait for it and then ask at once.
    server.start()
    output.say(f"gcom-registry {__version__} {server.address} ready")
    notify(f"READY=1\nSTATUS=at {server.address}")
    if server.grace_s:
        output.tell(f"starting: it waits {server.grace_s:.0f} s for groups that are there, before it gives a name away")
    while (caught := signals.next()) == signal.SIGHUP:
        _reread(server.rights, output)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)  # a second signal ends the process at once
    # Before the drain, which may take seconds: a supervisor must not take that for a hang.
    notify("STOPPING=1")
    server.close(DRAIN_S)
    # By SIGTERM it was asked to end, and has: that is a success, or a supervisor would count a failure.
    return EXIT_INTERRUPTED if caught == signal.SIGINT else 0


def _reread(rights: RightsFile, output: ServiceOutput) -> None:
    if trouble := rights.reread():
        output.tell(trouble, "ERROR")
    else:
        output.tell(f"rights: {len(rights.table.rules)} rules of {str(rights.path)!r} are in force")


def _complain(output: ServiceOutput, text: str, status: int) -> NoReturn:
    output.tell(text, "ERROR")
    sys.exit(status)
