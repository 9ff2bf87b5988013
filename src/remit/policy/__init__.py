"""Floor 1: what is true. Values and pure functions; no clock, disk, process or network."""
