"""The time a group is held up by a kill, and until its membership has followed pauses, joins, leaves and splits."""
