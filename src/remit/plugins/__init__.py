"""Floor 2: hook specifications, the registry, and the built-in plugins."""
