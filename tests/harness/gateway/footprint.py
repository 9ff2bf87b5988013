"""What a large result costs: `python -m tests.harness.gateway.footprint [BYTES]`.

The peak of a gateway's resident memory before and after one result of that size, which a client
reads that keeps none of it. JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.harness.gateway.rig import HERE, SPACE, Place

__all__ = ["direct", "footprint", "peak"]


def footprint(place: Place, size: int) -> dict[str, float]:
    """Return peaks in MB, the seconds that the call took, and the bytes that came."""
    server = _server(place, size)
    bound = f"test={place.folder / 'test.toml'}"
    serving = (sys.executable, str(HERE / "serving.py"), str(place.store.path), SPACE, bound)
    gateway = subprocess.Popen(
        [*serving, *server],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
        env=_environ(),
    )
    assert gateway.stdin is not None
    assert gateway.stdout is not None

    def send(**message: Any) -> None:
        assert gateway.stdin is not None
        gateway.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def drain() -> int:
        assert gateway.stdout is not None
        count = 0
        while chunk := os.read(gateway.stdout.fileno(), 1 << 20):
            count += len(chunk)
            if chunk.endswith(b"\n"):
                break
        return count

    about = {"name": "drain", "version": "1"}
    version = "2025-11-25"
    hello = {"protocolVersion": version, "capabilities": {}, "clientInfo": about}
    send(id=1, method="initialize", params=hello)
    drain()
    send(method="notifications/initialized")
    send(id=2, method="tools/list")
    drain()
    before = peak(gateway.pid)
    start = time.monotonic()
    send(id=3, method="tools/call", params={"name": "echo", "arguments": {}})
    came = drain()
    seconds = time.monotonic() - start
    after = peak(gateway.pid)
    gateway.stdin.close()
    gateway.wait(20)
    gateway.stdout.close()
    return {"before": before, "after": after, "seconds": round(seconds, 2), "bytes": came}


def direct(place: Place, size: int) -> dict[str, float]:
    """Return the peaks in MB of a client that calls the same server without a gateway."""
    client = (sys.executable, str(HERE / "directly.py"), *_server(place, size))
    said = subprocess.run(client, env=_environ(), capture_output=True, check=True, timeout=120)
    peaks: dict[str, float] = json.loads(said.stdout)
    return peaks


def _server(place: Place, size: int) -> tuple[str, ...]:
    tiny = str(HERE / "servers" / "tiny.py")
    return (sys.executable, tiny, str(place.folder / "notes"), f"large:{size}")


def _environ() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


def peak(process: int) -> float:
    """The most memory that a process had resident, in MB."""
    (line,) = (
        line
        for line in Path(f"/proc/{process}/status").read_text().splitlines()
        if line.startswith("VmHWM")
    )
    return round(int(line.split()[1]) / 1024, 1)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        there = Place.make(Path(folder))
        print(json.dumps(footprint(there, int(sys.argv[1]) if len(sys.argv) > 1 else 50_000_000)))
        there.store.close()
