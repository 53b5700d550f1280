"""The mutants that lose what a name had between two instances, by CONTINUITY's word: the verdict of the audit on each.

Of those that break what goes on from instance to instance (`continuity.py`, `boundary.py`).
"""

from __future__ import annotations

from tests.sim.mutants.table import MUTANTS

LOST = {
    "a_joiner_is_not_noted": "FAIL",
    "a_member_without_a_quorum_ends": "FAIL",
    "a_note_counts_though_the_registry_has_not_answered": "FAIL",
    "a_registry_that_starts_gives_names_away": "FAIL",
    "a_renewal_forgets_who_was_noted": "FAIL",
    "an_older_view_replaces_a_later_one": "FAIL",
    "clocks_count_pauses": "FAIL",
    "grace_is_for_unknown_names_only": "FAIL",
    "of_one_view_all_have_the_same": "FAIL",
    "one_survivor_need_not_promise": "FAIL",
    "the_cut_of_a_succession_is_what_its_proposer_holds": "FAIL",
    "the_registry_does_not_promise_a_succession": "FAIL",
    "who_comes_back_behind_another_is_forgotten": "FAIL",
    "who_comes_back_from_a_later_view_is_only_gone": "FAIL",
    "who_does_not_answer_is_dead": "FAIL",
    "who_is_noted_is_not_asked": "FAIL",
    "who_is_suspected_counts_as_dead": "FAIL",
    "who_registered_an_older_view_is_forgotten": "FAIL",
    "who_was_put_out_is_not_told_to_the_registry": "FAIL",
}


def is_told_apart(name: str, said: str) -> bool:
    """Tell whether a mutant of these files is in the table if the checkers' words are CONTINUITY's, and only then."""
    of_instances = MUTANTS[name].mutate.__module__.endswith((".continuity", ".boundary"))
    return not of_instances or said.startswith("CONTINUITY") == (name in LOST)
