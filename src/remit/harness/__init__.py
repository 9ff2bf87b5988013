"""Everything with a disk, a clock, a process or a socket."""
