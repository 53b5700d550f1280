"""`gcom certs`: make an authority, and its certificates, by hand. `gcom-registry invite` does the same by itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gcom.cli import options
from gcom.cli.output import Output, notice
from gcom.cli.prompts import is_confirmed
from gcom.errors import BadValue
from gcom.values import identity, names

if TYPE_CHECKING:  # `cryptography` takes a tenth of a second to load, and most commands need none
    from gcom.certificates.authority import Authority

app = typer.Typer(
    rich_markup_mode=None,
    help="Make an authority, and issue, show, renew and revoke its certificates (docs/two-computers.md).",
    context_settings={"help_option_names": ["-h", "--help"]},
)

AuthorityFolder = Annotated[
    Path | None,
    typer.Option("--authority", metavar="FOLDER", help="Where the authority is. [default: in the user's data folder]"),
]
Days = Annotated[float, typer.Option(min=0.001, max=3650, metavar="DAYS", help="How long it is valid.")]
Out = Annotated[
    Path | None,
    typer.Option(metavar="FOLDER", help="Where the three files are. [default: among this user's identities]"),
]


@app.command()
def init(authority: AuthorityFolder = None) -> None:
    """Make an authority: a key that signs certificates. Whoever has it can be everybody; it stays in its folder.

    \b
    Example:
      gcom certs init
    """
    from gcom.certificates import authority as authorities

    made = authorities.make_authority(authority or authorities.default_folder(), authorities.now_utc())
    notice(f"made an authority in {str(made.folder)!r}; its fingerprint is {made.fingerprint}")


@app.command()
def issue(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", parser=names.member_name, help="The member's name, or the registry's.", show_default=False
        ),
    ],
    admin: Annotated[bool, typer.Option("--admin", help="May remove and fork groups of others, too.")] = False,
    registry: Annotated[bool, typer.Option("--registry", help="For a registry, not for a member.")] = False,
    days: Days = 30,
    host: Annotated[list[str] | None, typer.Option(metavar="HOST", help="A host to name in it, too.")] = None,
    out: Out = None,
    authority: AuthorityFolder = None,
) -> None:
    """Make a key and a certificate for it: three files, of which key.pem is secret.

    \b
    Examples:
      gcom certs issue alice                    among this user's identities
      gcom certs issue bob --out bob            into the folder bob, to be taken to another machine
      gcom certs issue main --registry --out r  for a registry of your own: gcom-registry --cert ...
    """
    from gcom.certificates import identity_files, keys
    from gcom.certificates.authority import now_utc

    if admin and registry:
        raise BadValue("--admin is for members: leave out --registry, or --admin")
    who = identity.registry(name) if registry else identity.member(name, admin=admin)
    # The issuer makes the key here, so it has to be carried to its owner. With an invitation the owner makes it
    # (gcom-registry invite).
    signer, key = _authority(authority), keys.new_key()
    certificate = signer.issue(key.public_key(), who, now_utc(), days, host or ())
    files = (keys.key_pem(key), certificate, signer.pem)
    if out is None:
        out = identity_files.store(name, *files)
    else:
        identity_files.save(out, *files)
    notice(f"wrote key.pem, certificate.pem and authority.pem of {who} into {str(out)!r}, valid for {days:g} days")


@app.command("list")
def list_issued(authority: AuthorityFolder = None, as_json: options.Json = False) -> None:
    """List the certificates that the authority issued, the oldest first.

    \b
    Example:
      gcom certs list
    """
    from gcom.certificates.authority import now_utc
    from gcom.cli.commands.directory import table

    now, rows = int(now_utc().timestamp()), []
    for it in _authority(authority).records.issued():
        # In this order: that somebody took it back says more than that it is over by now.
        state = "revoked" if it.revoked is not None else "expired" if it.ends < now else "valid"
        rows.append(
            {"serial": f"{it.serial:x}", "names": identity.shown(it.uris), "ends": _when(it.ends), "state": state}
        )
    output = Output()
    if as_json:
        for row in rows:
            output.row(row)
    elif rows:
        table(output, [("SERIAL", "NAMES", "VALID UNTIL", "STATE"), *(tuple(row.values()) for row in rows)])
    output.flush()
    if not rows:
        notice("the authority has issued no certificate; make one with: gcom certs issue NAME")


@app.command()
def show(
    what: Annotated[str, typer.Argument(metavar="NAME|FILE", help="An identity of this user, or a PEM file.")],
    as_json: options.Json = False,
) -> None:
    """Show what a certificate says: whose it is, until when, and of which authority.

    \b
    Examples:
      gcom certs show alice
      gcom certs show certificate.pem --json
    """
    from gcom.certificates import identity_files, keys, private_files
    from gcom.certificates.authority import now_utc

    # A file before an identity of that name: whoever points to a file sees what is in it.
    folder = identity_files.folder_of(what) if not Path(what).is_file() else None
    # Not there in either case: the error below then names both things that were meant.
    path = folder / identity_files.CERTIFICATE if folder else Path(what)
    if not path.is_file():
        known = ", ".join(identity_files.stored()) or "none"
        raise BadValue(f"{what!r} is no file, and no identity of this user: there are {known}")
    found = keys.read_certificate(private_files.read(path), str(path))
    row = {
        "file": str(path),
        "names": "an authority" if found.is_authority else str(found.identity),
        "state": found.state(now_utc()),
        "from": _when(int(found.begins.timestamp())),
        "until": _when(int(found.ends.timestamp())),
        "issuer": found.issuer,
        "serial": f"{found.serial:x}",
        "fingerprint": found.fingerprint,
    }
    output = Output()
    if as_json:
        output.row(row)
    else:
        for title, value in row.items():
            output.text(f"{title:<12}{value}")
    output.flush()


@app.command()
def revoke(
    what: Annotated[str, typer.Argument(metavar="NAME|SERIAL", help="A member, or one certificate's serial number.")],
    authority: AuthorityFolder = None,
) -> None:
    """Revoke a certificate, or all of a member's name: nobody believes them any more.

    \b
    Example:
      gcom certs revoke mallory
    """
    from gcom.certificates.authority import now_utc

    for it in _authority(authority).revoke(what, now_utc()):
        notice(f"revoked {it.serial:x} of {identity.shown(it.uris)}")


@app.command()
def renew(
    name: Annotated[str, typer.Argument(help="The name of an identity of this user, or of the one in --out.")],
    days: Days = 30,
    out: Out = None,
    authority: AuthorityFolder = None,
) -> None:
    """Give the key of an identity a new certificate, on the machine that has the authority.

    \b
    Example:
      gcom certs renew alice
    """
    from gcom.certificates import identity_files, keys, private_files
    from gcom.certificates.authority import now_utc

    folder = out or identity_files.folder_of(name)
    if folder is None:
        raise BadValue(f"this user has no identity {name!r}: make one with gcom certs issue {name}")
    key_file, certificate_file = folder / identity_files.KEY, folder / identity_files.CERTIFICATE
    # The names are those that it has: a renewal must give nobody other rights, whatever is typed here.
    who = keys.read_certificate(private_files.read(certificate_file), str(certificate_file)).identity
    key = keys.load_key(private_files.read_private(key_file), str(key_file))
    # For the same key, so that one file is replaced, whole: a process that reads both never has a pair that does not
    # fit.
    private_files.write(certificate_file, _authority(authority).issue(key.public_key(), who, now_utc(), days))
    notice(f"wrote a new certificate of {who} into {str(folder)!r}, valid for {days:g} days")


@app.command("begin-records")
def begin_records(
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask whether it is meant.")] = False,
    authority: AuthorityFolder = None,
) -> int:
    """Begin the authority's records anew, where they are lost and no copy is left.

    A member that was revoked is believed again, until its certificate ends. Invitations that were not used are void.

    \b
    Example:
      gcom certs begin-records --authority /var/lib/gcom/authority
    """
    from gcom.certificates import authority as authorities

    folder = authority or authorities.default_folder()
    days = authorities.CERTIFICATE_DAYS
    notice("nobody can tell any more which certificates are revoked: all are believed until they end, in")
    notice(
        f"{days} days at most. To believe none of them, move {str(folder)!r} away, start the registry, and invite anew"
    )
    if not yes and not is_confirmed("begin", "this word"):
        notice("nothing was changed")
        return 1
    authorities.begin_records(folder, authorities.now_utc())
    notice("the records are begun anew; a rule keeps out a member that was revoked: gcom-registry deny all NAME")
    return 0


def _authority(folder: Path | None) -> Authority:
    from gcom.certificates import authority as authorities

    return authorities.Authority(folder or authorities.default_folder())


def _when(seconds: int) -> str:
    from datetime import UTC, datetime

    # UTC, as the machines that one certificate is looked at on may be in several time zones.
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
