"""Rules of sessions on a replicated state: `guarantees` has RYW, MR, MW and WFR, `bank` what never changes.

Source: Terry, Demers, Petersen, Spreitzer, Theimer, Welch, "Session guarantees for weakly consistent replicated data",
1994. All writes are in one total order, so each guarantee compares two indexes.
"""
