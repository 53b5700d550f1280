"""The authority of a deployment: it signs certificates, and knows which it signed, revoked, and whom it invited."""

from __future__ import annotations

import ipaddress
import secrets
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from gcom.certificates import keys, private_files
from gcom.certificates.storage import Invited, Issued, Records
from gcom.errors import BadValue, LocalError
from gcom.values import identity, names, spelling
from gcom.values.identity import Identity

KEY, CERTIFICATE, RECORDS = "authority.key", "authority.pem", "authority.db"
AUTHORITY_DAYS = 3650  # longer than any deployment is planned for: a new authority means new invitations for all
CERTIFICATE_DAYS = 30  # short, since revoked serials are kept until they expire; renewed by itself after two thirds
BACKDATED = timedelta(minutes=5)  # clocks of several machines differ


def default_folder() -> Path:
    """Return the folder of the user's own authority; it need not be there."""
    return private_files.data_folder() / "authority"


class Authority:
    """An authority in its folder.

    Raises BadValue where there is none, or others may enter its folder; LocalError where its records are lost.
    """

    def __init__(self, folder: Path) -> None:
        if not (folder / KEY).exists():
            raise BadValue(f"there is no authority in {str(folder)!r}: make one with gcom certs init")
        private_files.refuse_open_folder(folder, RECORDS)
        self.folder = folder
        self.pem = private_files.read(folder / CERTIFICATE)
        # A key that others may read is refused: what it signed so far may be anybody's.
        self._key = keys.load_key(private_files.read_private(folder / KEY), str(folder / KEY))
        self._certificate = keys.load_certificate(self.pem, str(folder / CERTIFICATE))
        self.records = Records(folder / RECORDS)

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of its certificate, hexadecimal."""
        return self._certificate.fingerprint(hashes.SHA256()).hex()

    def issue(
        self,
        key: ec.EllipticCurvePublicKey,
        who: Identity,
        now: datetime,
        days: float = CERTIFICATE_DAYS,
        hosts: Iterable[str] = (),
    ) -> bytes:
        """Return a certificate that gives the holder of `key` an identity, as PEM, the authority's behind it."""
        begins, ends = now - BACKDATED, now + timedelta(days=days)
        # 64 is what X.520 allows a common name. It is for people alone: the identity is in the URIs below.
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, str(who)[:64])])
        uris = map(x509.UniformResourceIdentifier, who.uris)
        built = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self._certificate.subject)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(begins)
            .not_valid_after(ends)
            # Critical: whoever checks a chain must see that a member signs nobody else's certificate.
            .add_extension(x509.BasicConstraints(False, None), critical=True)
            .add_extension(_usage(signs=False), critical=True)
            .add_extension(
                # Both uses: a node listens and dials, with one certificate.
                x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH]),
                False,
            )
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
            .add_extension(x509.SubjectAlternativeName([*uris, *map(_host, hosts)]), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        # Before it is handed out: a certificate that the records do not know could not be revoked.
        self.records.add(Issued(built.serial_number, who.uris, _seconds(begins), _seconds(ends)))
        return built.public_bytes(serialization.Encoding.PEM) + self.pem

    def invite(self, who: Identity, now: datetime, lives: timedelta) -> bytes:
        """Return a secret that gives the first key that shows it a certificate of that identity."""
        # 144 bits, which nobody guesses; a multiple of three bytes, so that base64 needs no padding (`invitation`).
        secret = secrets.token_bytes(18)
        self.records.invite(secret, Invited(who.uris, _seconds(now + lives)))
        return secret

    def enrol(self, secret: bytes, request: bytes, now: datetime) -> bytes:
        """Return the certificate that an invitation's secret gives to the key of a request; raises BadValue."""
        key = keys.requested_key(request)
        invited = self.records.invitation(secret)
        if invited is None:
            raise BadValue(
                "this registry knows no such invitation: copy the whole line, or ask for a new one (gcom-registry "
                "invite NAME)"
            )
        # The answer was lost, or could not be stored, and the same key asks again, whenever it is able to.
        if invited.certificate is not None and invited.key == keys.key_id(key):
            return invited.certificate
        if _seconds(now) > invited.ends:
            raise BadValue("the invitation has expired: ask for a new one (gcom-registry invite NAME)")
        # One statement of the records decides: of two that show the secret at once one gets it.
        if not self.records.use(secret, keys.key_id(key)):
            raise BadValue("the invitation was used before: ask for a new one (gcom-registry invite NAME)")
        # 1. `use` gives the invitation to a key. 2. The process is killed before `keep`. 3. The same key asks again,
        #    passes `use` again, and is issued another certificate: our crash does not lock the guest out.
        certificate = self.issue(key, identity.from_uris(invited.uris), now)
        self.records.keep(secret, certificate)
        return certificate

    def revoke(self, what: str, now: datetime) -> list[Issued]:
        """Revoke a serial number in hexadecimal, or all certificates of a member's name; raises BadValue for none.

        Invitations of that name which were not used are void, too.
        """
        member = f"gcom://{identity.MEMBER}/{names.escaped(spelling.normal(what))}"
        # An invitation that is open would give the name a certificate that nobody revoked.
        self.records.cancel(member)
        # One that has expired is believed by nobody anyway.
        live = [it for it in self.records.issued() if it.revoked is None and it.ends >= _seconds(now)]
        found = [it for it in live if f"{it.serial:x}" == what.lower() or member in it.uris]
        if not found:
            raise BadValue(f"no valid certificate is of {what!r}: gcom certs list shows names and serial numbers")
        for it in found:
            self.records.revoke(it.serial, _seconds(now))
        return found


def make_authority(folder: Path, now: datetime) -> Authority:
    """Make an authority in a folder that has none; raises BadValue."""
    private_files.make_folder(folder)
    if (folder / KEY).exists():
        raise BadValue(f"there is an authority in {str(folder)!r} already: gcom certs list shows what it issued")
    key = keys.new_key()
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"GCom authority {secrets.token_hex(4)}")])
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BACKDATED)
        .not_valid_after(now + timedelta(days=AUTHORITY_DAYS))
        # Path length 0: a second authority that it signs by mistake can sign nothing that TLS takes.
        .add_extension(x509.BasicConstraints(True, 0), critical=True)
        .add_extension(_usage(signs=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    private_files.write(folder / CERTIFICATE, built.public_bytes(serialization.Encoding.PEM))
    Records.make(folder / RECORDS)
    private_files.write(folder / KEY, keys.key_pem(key))  # last: it is what makes the folder an authority's
    return Authority(folder)


def begin_records(folder: Path, now: datetime) -> Authority:
    """Begin the records of an authority anew, where they are lost or damaged; what is left of them is moved aside.

    Raises BadValue where there is no authority, or its records are whole.
    """
    path = folder / RECORDS
    try:
        Authority(folder)
    except BadValue:
        raise
    except LocalError:
        if path.exists():
            path.rename(path.with_name(f"{RECORDS}.lost-{_seconds(now)}"))
        Records.make(path)
        return Authority(folder)
    raise BadValue(f"the authority's records {str(path)!r} are whole: nothing was changed")


def now_utc() -> datetime:
    """Return the time of this machine's clock, which certificates are judged by."""
    return datetime.now(UTC)


def _usage(*, signs: bool) -> x509.KeyUsage:
    no = dict.fromkeys(
        ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "encipher_only"), False
    )
    # The authority's key signs certificates alone: nobody may speak TLS by it.
    return x509.KeyUsage(digital_signature=not signs, key_cert_sign=signs, crl_sign=signs, decipher_only=False, **no)


def _host(host: str) -> x509.GeneralName:
    try:
        # TLS clients look for a dialled address among the IP entries alone, never among the names.
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _seconds(at: datetime) -> int:
    return int(at.timestamp())
