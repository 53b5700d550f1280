"""Banks whose branches are processes: they are served, and killed while customers check every answer."""
