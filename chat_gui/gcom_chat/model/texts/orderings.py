"""The five orderings in a sentence each."""

from __future__ import annotations

from gcom_chat.model.texts.words import QT_TRANSLATE_NOOP

# Per ordering: what it gives, and what that costs.
ORDERINGS = {
    "NONORDERED": QT_TRANSLATE_NOOP(
        "orderings", "Messages are shown as they arrive: fastest, and an answer may stand before its question."
    ),
    "FIFO": QT_TRANSLATE_NOOP(
        "orderings", "Each member's messages in the order of sending; those of two members may interleave as they like."
    ),
    "CAUSAL": QT_TRANSLATE_NOOP(
        "orderings", "An answer never stands before what it answers. A message may wait for one that it follows."
    ),
    "TOTAL": QT_TRANSLATE_NOOP(
        "orderings", "All members see one and the same order. A message waits for its number from the sequencer."
    ),
    "CAUSALTOTAL": QT_TRANSLATE_NOOP(
        "orderings", "One order for all, and no answer before its question. Waits for both."
    ),
}
