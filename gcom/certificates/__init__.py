"""Authority, certificates and identities as files.

`keys` has keys, requests and certificates as PEM. `authority` signs, and keeps in its `storage` what it signed,
revoked, and whom it invited; `identity_files` are one user's own identities; `private_files` writes what nobody else
may read. `invitation` is the line for a newcomer, `run_keys` sign messages, `user_secret` stands for all of this on
loopback. The protocol is docs/protocols/security.md. The package `cryptography` is imported here alone, and by no
process that stays on loopback.
"""
