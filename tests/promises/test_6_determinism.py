"""Promise 6: equal inputs give equal bytes: preamble, projection hash, decision, export."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from attrs import evolve

from remit.policy.gate import Setting
from remit.policy.vocabulary import Verdict
from tests.promises.modes import projected, worlds
from tests.promises.told import told

ROOT = Path(__file__).parents[2]


def test_in_every_process() -> None:
    """Two processes that hash text differently say the same bytes as this one."""
    here = told()
    for seed in ("1", "20261130"):
        run = subprocess.run(
            [sys.executable, "-m", "tests.promises.told"],
            cwd=ROOT,
            env={
                **os.environ,
                "PYTHONHASHSEED": seed,
                "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
            },
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        assert json.loads(run.stdout) == here


def test_again_in_the_same_process() -> None:
    """What was asked before changes no byte of what is asked next."""
    assert told() == told()


def test_a_hash_tells_apart_what_decides_differently() -> None:
    """S003-5: the hash of a projection changes with each thing that a decision depends on."""
    allow, deny = Verdict.ALLOW, Verdict.DENY
    for world, case in worlds(40, seed=32):
        settings = world.settings
        others = [
            evolve(world, settings=(*settings, Setting("pr.create", allow, "a"))),
            evolve(world, settings=(*settings, Setting("pr.create", allow, ""))),
            evolve(world, settings=(*settings, Setting("pr.create", allow))),
            evolve(world, settings=(*settings, Setting("pr.create", deny))),
            evolve(world, admitted=world.admitted | {"acme.deploy"}),
            evolve(world, askable=not world.askable),
            evolve(world, classifiers=frozenset()),
            evolve(world, tools=world.tools[1:]),
        ]
        hashes = [case.projection.hash, *(projected(other).hash for other in others)]
        named = any(t.classify in world.classifiers and t.declared for t in world.tools)
        assert len(set(hashes)) == len(hashes) - (not named)


def test_a_hash_is_of_what_decides_and_nothing_else() -> None:
    """Rows that differ have hashes that differ."""
    seen: dict[str, object] = {}
    for world, case in worlds(200, seed=33):
        rows = (case.compiled.rows, case.compiled.table, [t.key for t in world.tools])
        assert seen.setdefault(case.projection.hash, rows) == rows
