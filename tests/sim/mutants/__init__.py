"""The core, broken in one place at a time."""

from tests.sim.mutants import changes, membership, multicast, orders
from tests.sim.mutants.table import MUTANTS, SEEDS, Catch, Mutant, hunt

__all__ = ["AT_LARGE", "MUTANTS", "SEEDS", "Catch", "Mutant", "changes", "hunt", "membership", "multicast", "orders"]

# Not caught by the 50 seeds: what would show them is drawn too rarely, the checks have a hole, or they change nothing
# that counts. Each is to be caught, or dropped with a reason; the table shows them as long as they are here.
AT_LARGE = frozenset(
    {
        "a_promise_does_not_bind",
        "trace_02_ballots_name_no_proposer",
        "a_member_installs_though_the_cut_leaves_out_what_it_delivered",
        "items_of_another_view_s_change_count",
        "a_value_is_kept_though_who_held_its_cut_is_gone",
        "who_is_behind_is_not_waited_for",
        "who_is_behind_is_not_told",
        "a_proposer_does_not_wait_for_a_quorum_to_accept",
        "silence_is_no_evidence",
        "trace_15_who_has_no_quorum_stays",
        "trace_10_the_quorum_is_of_those_whose_machines_do_not_refuse",
        "a_name_is_given_to_whoever_asks",
        "trace_14_nothing_tells_of_a_lost_last_message",
        "the_last_views_payloads_are_dropped_with_the_view",
        "the_last_views_payloads_are_dropped_though_a_suspect_lacks_them",
        "safe_is_delivered_on_one_ack",
        "a_receiver_takes_itself_and_the_sender_for_a_majority",
        "trace_09_the_cut_is_delivered_though_nobody_has_its_past",
        "trace_09_a_serial_is_delivered_though_nobody_has_its_past",
        "trace_14_a_lost_run_takes_its_clock_along",
        "trace_05_a_sequencer_that_starts_again_goes_on_by_what_it_is_asked",
        "serials_are_reused_since_a_view_is_opened_again",
        "trace_06_who_is_cut_off_from_the_sequencer_does_not_say_so",
        "nobody_passes_the_order_on",
    }
)
