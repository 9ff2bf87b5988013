"""Any order of events, several workers, both databases: what the records of runs tell is sound."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from remit.harness.store import run_rows, runs
from remit.policy import run_step
from tests.harness.store.lives import Life, rebuilt
from tests.server import Server

QUICK = settings(
    deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck),
    # A failure is told as it was found: what shrinks it takes minutes on a real database.
    phases=[Phase.generate],
)  # fmt: skip
#: What is wrong in each: a module of the machine or of its store, and a text in another's place.
FAULTS = {
    "a settlement counts twice": (run_step, "if before is not None:", "if False:"),
    "an old revision is taken": (run_step, "event.revision != run.revision", "False"),
    "any turn may complete": (run_step, "if event.kind in _CLAIMED and", "if False and"),
    "two turns may hold a run": (run_step, "if run.claim is not None:\n        return run, _refuse",
                                 "if False:\n        return run, _refuse"),
    "a turn that is over takes it again": (run_step, "if event.turn in run.settled:", "if False:"),
    "the host has any number of turns": (run_step, "if event.host and run.spent:", "if False:"),
    "the clock never stops": (run_step, "event.now if made.state is State.RUNNING else None",
                              "event.now"),
    "offline time counts": (run_step, "and event.kind is not Kind.RESTART", ""),
    "every other gate is passed over": (run_step, "event.gate + 1", "event.gate + 2"),
    "a gate that failed has passed": (run_step, 'record = Effect(Do.RECORD, event.turn, f"',
                                      'event = evolve(event, passed=True)\n    record = Effect('
                                      'Do.RECORD, event.turn, f"'),
    "nobody need be asked": (run_step, "action is Action.ASK", "action is None"),
    "the cap is no cap": (run_step, "if counted.failures < gate.retries:", "if True:"),
    "an agent judges its own gates": (runs, "Kind.GATE: _HOST", 'Kind.GATE: _HOST | {"agent"}'),
    "a dead worker's turn goes on": (run_step, "State.PAUSED if run.state is State.RUNNING else",
                                     "run.state if run.state else"),
}  # fmt: skip


class Whole(Life):
    """Looks at the tables too, when a life is over."""

    def teardown(self) -> None:
        rebuilt(self)
        super().teardown()


def test_on_a_file() -> None:
    """S000-102, S000-90, S000-50, S000-96: on SQLite; the long form is in tools."""
    run_state_machine_as_test(
        Whole, settings=settings(QUICK, max_examples=12, stateful_step_count=20)
    )


def test_on_a_server(server: Server) -> None:
    """The same on PostgreSQL."""

    class Remote(Whole):
        def place(self) -> str:
            self.made = server.make()
            return self.made

        def teardown(self) -> None:
            super().teardown()
            server.drop(self.made)

    run_state_machine_as_test(
        Remote, settings=settings(QUICK, max_examples=3, stateful_step_count=20)
    )


@pytest.fixture
def seeded(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Put a fault into the run machine or its store, for the time of a test."""

    def seed(name: str) -> None:
        module, old, new = FAULTS[name]
        source = inspect.getsource(module)
        assert source.count(old) == 1, f"{source.count(old)} places for {name!r}"
        faulty = types.ModuleType(module.__name__)
        exec(compile(source.replace(old, new), str(module.__file__), "exec"), faulty.__dict__)
        if module is run_step:
            for user in (runs, run_rows):
                monkeypatch.setattr(user, "step", faulty.step)
        else:
            monkeypatch.setattr(runs, "_SENDERS", faulty._SENDERS)

    return seed


@pytest.mark.parametrize("name", FAULTS)
def test_seeded_faults_are_caught(name: str, seeded: Callable[[str], None]) -> None:
    """What the walk says of a sound machine it does not say of one with a fault."""
    seeded(name)
    quick = settings(QUICK, max_examples=60, stateful_step_count=20)
    with pytest.raises((AssertionError, ExceptionGroup)):
        run_state_machine_as_test(Life, settings=quick)
