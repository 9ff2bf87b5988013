"""Two processes on one workspace: a switch races a turn, and a worker is killed at any moment.

``./tools/ordeal`` runs it at length on both stores; the tests do so for seconds.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache, partial
from itertools import count
from pathlib import Path
from random import Random

from attrs import Factory, define

from remit.harness.engine import Engine
from remit.harness.session import Run
from remit.harness.store import ApprovalState, Store
from remit.harness.workspace import Workspace
from remit.policy.projection import Host
from remit.policy.tools import Call, Catalog
from remit.policy.vocabulary import Dial
from tests.server import server

__all__ = ["Kills", "Races", "kills", "races"]

#: One that restricts nothing and one that refuses the call.
WIDE, NARROW = "chat", "plan"
OPERATOR = "operator"


@cache
def world() -> tuple[Engine, Catalog]:
    engine = Engine.load()
    return engine, engine.catalogs(["mcp-git"])


def opened(location: str) -> Workspace:
    return Workspace(world()[0], Store.open(location), Host("library"))


def made(location: str) -> None:
    """Make a workspace with one space."""
    at = Workspace(world()[0], Store.open(location, create=datetime.now(UTC)), Host("library"))
    at.create_space("s", WIDE, by=OPERATOR, dial=Dial.AUTO)
    at.close()


def commit(n: int) -> Call:
    return Call("git_commit", {"repo_path": "/w", "message": f"m{n}"})


@contextmanager
def beside(act: Callable[[], None]) -> Iterator[int]:
    """Have another process that does something, killed at the end if it still runs."""
    world()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            act()
            code = 0
        finally:
            os._exit(code)
    try:
        yield child
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


@define
class Races:
    """What came of races: how many, how many calls ran, and how many that must not have."""

    races: int = 0
    ran: int = 0
    refused: int = 0
    stale: int = 0


def races(location: str, wanted: int) -> Races:
    """Race a switch against a call of a turn so often, and look at each decision again.

    Both processes begin at once. A call is stale if it was let through after the record of a switch
    that refuses it, or by a step in a mode that does; or if it was made when the switch had been
    answered already.
    """
    made(location)
    go, went = os.pipe()
    answer, answered = os.pipe()

    def switch() -> None:
        os.close(went)
        with opened(location) as at:
            space = at.space("s")
            while os.read(go, 1):
                space.set(NARROW if space.mode == WIDE else WIDE, by=OPERATOR)
                os.write(answered, b".")

    found = Races()
    with beside(switch):
        with opened(location) as at:
            talk, tools = at.space("s").conversation("c"), world()[1]
            while found.races < wanted:
                with talk.turn() as turn:
                    step = turn.step(tools)
                    os.write(went, b".")
                    first = step.decide(commit(0))
                    os.read(answer, 1)
                    second = step.decide(commit(1))
                found.races += 1
                allowed = [isinstance(call, Run) for call in (first, second)]
                found.ran += sum(allowed)
                found.refused += 2 - sum(allowed)
                # The switch was answered: whichever way it went, one of the two modes refuses.
                found.stale += allowed[1]
            found.stale += _stale(at)
        for end in (go, went, answer, answered):
            os.close(end)
    return found


def _stale(at: Workspace) -> int:
    """Count the calls that the log says were let through where a mode before them refuses.

    A record comes after its decision, so what counts is after which record that was made.
    """
    step, stale, sets = WIDE, 0, [(0, WIDE)]
    for event in at.store.log.read("s", kinds=("mode.set", "step.framed", "decision")):
        if event.kind == "mode.set":
            sets.append((event.seq, event.body["mode"]))
        elif event.kind == "step.framed":
            step = event.body["mode"]
        elif event.body["forwarded"]:
            space = [mode for seq, mode in sets if seq <= event.body["as_of"]][-1]
            stale += NARROW in (space, step)
    return stale


@define
class Kills:
    """What came of kills: how many, how many acts were told as done, and what was wrong."""

    kills: int = 0
    acts: int = 0
    wrong: list[str] = Factory(list)


def kills(place: Callable[[], str], wanted: int, seed: int, each: int = 25) -> Kills:
    """Kill a worker so often, at a moment by chance, and look at what it leaves each time."""
    random, found = Random(seed), Kills()
    numbers = count()
    while found.kills < wanted:
        location = place()
        made(location)
        for _ in range(min(each, wanted - found.kills)):
            _kill(location, random, numbers, found)
    return found


def _kill(location: str, random: Random, numbers: Iterator[int], found: Kills) -> None:
    """Let a worker work for a moment, kill it, and hold what it said against what is there."""
    said, say = os.pipe()
    first = next(numbers) * 1000
    order = Random(random.random())

    def tell(n: int, what: str) -> None:
        os.write(say, f"{what} {n}\n".encode())

    def work() -> None:
        with opened(location) as at:
            os.write(say, b"begun 0\n")
            for n in count(first):
                _work(at, n, order, partial(tell, n))

    with beside(work) as child:
        os.close(say)
        heard = os.read(said, 4096)
        time.sleep(random.uniform(0, 0.25))
        os.kill(child, signal.SIGKILL)
        while more := os.read(said, 65536):
            heard += more
    os.close(said)
    told = [(what, int(n)) for what, n in (line.split() for line in heard.decode().splitlines())]
    found.kills += 1
    found.acts += len(told)
    found.wrong += _look(location, told)


def _work(at: Workspace, n: int, order: Random, say: Callable[[str], object]) -> None:
    """Do something; what has a number is said before and after it."""
    space = at.space("s")
    talk = space.conversation("c")
    space.set_dial(order.choice((Dial.ASK, Dial.AUTO)), by=OPERATOR)
    say("wish")
    mode = order.choice([m for m in (WIDE, NARROW, "orchestrate") if m != space.mode])
    space.set(mode, by=OPERATOR, why=f"wish {n}")
    say("wished")
    with talk.turn() as turn:
        step = turn.step(world()[1])
        if not isinstance(step.decide(commit(n)), Run):
            for asked in at.store.approvals.list(now=at.clock(), state=ApprovalState.PENDING):
                at.store.approvals.decide(asked.id, True, by=OPERATOR, now=at.clock())
            ran = isinstance(turn.step(world()[1]).decide(commit(n)), Run)
        else:
            ran = True
        if order.random() < 0.5:
            turn.conversation.child()
        space.set(WIDE if space.mode != WIDE else NARROW, by=OPERATOR, why=f"second wish {n}")
        turn.step(world()[1])
        if ran:
            # By now, at the latest, the decision of the step before is in the log.
            say("step")


def _look(location: str, told: list[tuple[str, int]]) -> list[str]:
    """Return what is wrong with a store after a kill, by what its worker had said."""
    wrong: list[str] = []
    with opened(location) as at:
        log = at.store.log
        if problem := log.verify().problem:
            wrong.append(str(problem))
        wrong += map(str, log.rebuild().problems)
        sets = log.read("s", kinds=("mode.set",))
        reasons = [e.body["why"] for e in sets]
        runs = [
            e.body["args"]["message"]
            for e in log.read("s", kinds=("decision",))
            if e.body["forwarded"]
        ]
        for what, n in told:
            if what == "wished" and reasons.count(f"wish {n}") != 1:
                wrong.append(f"wish {n} is there {reasons.count(f'wish {n}')} times")
            if what == "step" and runs.count(f"m{n}") != 1:
                wrong.append(f"call {n} ran {runs.count(f'm{n}')} times by the log")
        wrong += [f"twice: {r}" for r in {*reasons, *runs} if [*reasons, *runs].count(r) > 1 and r]
        space = at.space("s")
        if sets and space.mode != sets[-1].body["mode"]:
            wrong.append(f"the space is in {space.mode}, last set was {sets[-1].body['mode']}")
        # Whatever was wished last is in force in the next turn, however the last one ended.
        with space.conversation("c").turn() as turn:
            if turn.step(world()[1]).mode != space.mode:
                wrong.append(f"a turn began in another mode than {space.mode}")
        if log.verify().ahead:
            wrong.append("the anchor stayed behind")
    return wrong


def main() -> None:
    """Run both on both stores, and fail where one decision was stale or anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--races", type=int, default=10_000, help="on each store")
    parser.add_argument("--kills", type=int, default=500, help="on each store")
    parser.add_argument("--seed", type=int, default=1, help="of the moments (default: 1)")
    args = parser.parse_args()
    failed = 0
    with server() as there, tempfile.TemporaryDirectory() as folder:
        os.environ["REMIT_HOME"] = folder
        numbers = count()

        def file() -> str:
            return str(Path(folder, f"{next(numbers)}.db"))

        for name, place in (("SQLite", file), ("PostgreSQL", there.make)):
            began = time.monotonic()
            raced = races(place(), args.races)
            print(f"{name}: {raced} in {time.monotonic() - began:.0f} s", flush=True)
            began = time.monotonic()
            killed = kills(place, args.kills, args.seed)
            print(f"{name}: {killed} in {time.monotonic() - began:.0f} s", flush=True)
            failed += raced.stale + len(killed.wrong)
    sys.exit(failed and f"ordeal: {failed} wrong")


if __name__ == "__main__":
    main()
