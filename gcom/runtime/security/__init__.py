"""Security of a process: its credentials, and how it comes by them (docs/protocols/security.md).

`process` puts it together as a process starts; `enrolment` accepts an invitation, `upkeep` renews a certificate and
learns which are revoked, `member_rights` holds the registry's rules against other members, and `protection` says to the
application how it is protected.
"""
