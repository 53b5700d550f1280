"""How long a group is held up by a kill, and how fast its membership follows pauses, joins, leaves and splits."""
