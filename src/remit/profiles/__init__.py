"""Text to values and back: the loader, the built-in profiles and the catalogues."""
