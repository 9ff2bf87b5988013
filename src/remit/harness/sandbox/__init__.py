"""The sandbox: the operating system holds the same posture as the surface and the guard."""
