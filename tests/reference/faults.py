"""Seeded faults of the engine, one line each: the differential test has to catch every one.

Each is made in a copy of the engine, so nothing here is touched and runs may go side by side.
``./tools/mutants`` tries them all; the tests do so at a smaller size.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from pathlib import Path

from attrs import frozen

__all__ = ["FAULTS", "Fault", "Outcome", "seed_and_run"]

ROOT = Path(__file__).parents[2]


@frozen
class Fault:
    """What it breaks, and in which module of `remit.policy` which text becomes which."""

    what: str
    module: str
    old: str
    new: str


class Outcome(StrEnum):
    """What became of a fault."""

    CAUGHT = "caught"
    SURVIVED = "survived"
    #: The run failed for another reason, so it says nothing.
    BROKEN = "broken"


FAULTS = (
    Fault("the higher tier wins a meet", "ceiling",
          "if ceiling.tier.rank < tier.rank:", "if ceiling.tier.rank > tier.rank:"),
    Fault("refused effects are lost in a meet", "ceiling",
          "refuse | ceiling.refuse if refuse else ceiling.refuse", "ceiling.refuse"),
    Fault("the laxer word on the unknown wins a meet", "ceiling",
          "unknown = ceiling.unknown\n", "pass\n"),
    Fault("the last limit wins a meet", "ceiling",
          "limit[effect] | lists if effect in limit else lists", "lists"),
    Fault("only the first allow-list counts", "compile",
          "for allowed in ceiling.allow:", "for allowed in list(ceiling.allow)[:1]:"),
    Fault("any mode may call any native verb", "compile",
          "for i in catalog.native:", "for i in ():"),
    Fault("a pin holds until a call is looked at", "compile",
          "decision.layer in (Layer.PIN, Layer.FILTER)", "decision.layer is Layer.FILTER"),
    Fault("what is seen of a call revives a hidden tool", "compile",
          "decision.layer in (Layer.PIN, Layer.FILTER)", "decision.layer is Layer.PIN"),
    Fault("a tier admits only what is below it", "guard",
          "shape.tier.rank > ceiling.tier.rank", "shape.tier.rank >= ceiling.tier.rank"),
    Fault("one refused way hides a tool that has another", "guard",
          "any(found is None for found in refused)", "all(found is None for found in refused)"),
    Fault("a declared spawn is not the unknown", "guard",
          "if unread and _SPAWN in effects:", "if False:"),
    Fault("a limit without a target hides nothing", "guard",
          "admits_nothing(ceiling.limit[e])", "False"),
    Fault("what is seen replaces what is declared", "guard",
          "found.effects | shape.effects", "found.effects or shape.effects"),
    Fault("effects beyond the declared bound pass as understood", "guard",
          "(classified and not effects <= shape.effects)", "False"),
    Fault("a call is refused only if all its effects are", "guard",
          "if hit := found.effects & ceiling.refuse:",
          "if (hit := found.effects & ceiling.refuse) and hit == found.effects:"),
    Fault("one limit of several is enough", "guard",
          "if not all(\n", "if not any(\n"),
    Fault("protected paths are held in narrow modes alone", "guard",
          "if found.protected:", "if found.protected and ceiling.refuse:"),
    Fault("the dial accepts more than edits", "gate",
          "_CHANGE = (_D, _Q, _Q, _A)", "_CHANGE = (_D, _Q, _A, _A)"),
    Fault("a setting lifts a denial of propose", "gate",
          "if dial is Dial.PROPOSE and cell is Verdict.DENY:", "if False:"),
    Fault("the laxest of several settings holds", "gate",
          "(max(said), Cause.SETTING)", "(min(said), Cause.SETTING)"),
    Fault("a target that is not seen escapes its setting", "gate",
          "usual = max(general, default=cell)", "usual = Verdict.DENY"),
    Fault("an opaque call is taken at its word", "gate",
          "if found.opaque:\n", "if False:\n"),
    Fault("a write tool with no effects passes", "gate",
          "shape.tier > Tier.READ and", "shape.tier > Tier.WRITE and"),
    Fault("with nobody to ask a call is let through", "gate",
          "Decision(Verdict.DENY, Layer.GATE, Cause.NOBODY", "Decision(Verdict.ALLOW, Layer.GATE, "
          "Cause.NOBODY"),
    Fault("a star crosses folders", "selectors",
          '"[^/]*"', '".*"'),
    Fault("excluding patterns exclude nothing", "selectors",
          "any(target_matches(p, t) for p in no)", "False"),
    Fault("limits that exclude each other leave a tool there", "selectors",
          "a.startswith(b) or b.startswith(a)", "True"),
    Fault("no target is within every limit", "selectors",
          "return bool(seen) and all(", "return all("),
    Fault("a source is not looked at", "tools",
          'kind in ("", tools[i].source, tools[i].origin)', "True"),
    Fault("the first of two tools gets the bare name", "tools",
          "if len(at) == 1 and n not in keys", "if n not in keys"),
    Fault("a classifier that nobody brings counts as there", "tools",
          "(tool.classify is None or tool.classify in self.classifiers)", "True"),
    Fault("a grant of some arguments answers for any", "grants",
          "if g.args == spelt", "if g.args"),
    Fault("a grant of one target answers for all", "grants",
          "for target in found.targets.get(effect, ()) or (None,):",
          "for target in found.targets.get(effect, ())[:1] or (None,):"),
    Fault("a grant answers for what could not be read", "grants",
          "if not shape.declared or found.opaque:", "if not shape.declared:"),
    Fault("opaque only if everybody says so", "tools",
          "self.opaque or other.opaque", "self.opaque and other.opaque"),
    Fault("what the host saw is dropped", "projection",
          "found = seen or CallEffects()", "found = CallEffects()"),
    Fault("a guard's word counts only where nobody asks", "projection",
          "if decision.layer is not Layer.GUARD:", "if decision.verdict is Verdict.ALLOW:"),
)  # fmt: skip


def seed_and_run(
    fault: Fault | None, folder: Path, seed: int, worlds: int, calls: int
) -> tuple[Outcome, str]:
    """Copy the engine into ``folder``, make the fault, and compare; None is the engine as it is."""
    engine = folder / "src"
    for source in (ROOT / "src" / "remit").iterdir():
        copy = engine / "remit" / source.name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if source.name == "policy":
            shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
        elif source.name != "__pycache__":
            copy.symlink_to(source)
    if fault is not None:
        module = engine / "remit" / "policy" / f"{fault.module}.py"
        text = module.read_text()
        if text.count(fault.old) != 1:
            return (
                Outcome.BROKEN,
                f"`{fault.old}` is {text.count(fault.old)} times in {module.name}",
            )
        module.write_text(text.replace(fault.old, fault.new))
    run = subprocess.run(
        [
            sys.executable, "-m", "tests.reference.differential", "--engine", str(engine),
            "--seed", str(seed), "--worlds", str(worlds), "--calls", str(calls), "--as-found",
        ],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(engine), "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    if run.returncode == 0:
        return Outcome.SURVIVED, run.stdout
    # A crash is no difference: it would pass for a catch of whatever made it.
    caught = run.returncode == 1 and "  model:" in run.stdout
    return (Outcome.CAUGHT, run.stdout) if caught else (Outcome.BROKEN, run.stdout + run.stderr)


def main() -> None:
    """Try every fault, print what caught each, and fail where one survived."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="of the worlds (default: 1)")
    parser.add_argument("--worlds", type=int, default=400, help="at most so many (default: 400)")
    parser.add_argument("--calls", type=int, default=100, help="calls in a world (default: 100)")
    args = parser.parse_args()

    def run(fault: Fault | None) -> tuple[Outcome, str]:
        with tempfile.TemporaryDirectory(prefix="remit-mutant.") as folder:
            return seed_and_run(fault, Path(folder), args.seed, args.worlds, args.calls)

    failed = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for fault, (outcome, said) in zip(
            (None, *FAULTS), pool.map(run, (None, *FAULTS)), strict=True
        ):
            wanted = Outcome.SURVIVED if fault is None else Outcome.CAUGHT
            first = next((line for line in said.splitlines() if line.startswith("world ")), "")
            what = fault.what if fault else "the engine as it is"
            print(f"{outcome:<9} {what}{f' ({first})' if first else ''}", flush=True)
            if outcome is not wanted:
                failed += 1
                if outcome is Outcome.BROKEN:
                    print(said)
    sys.exit(failed and f"mutants: {failed} not as they should be")


if __name__ == "__main__":
    main()
