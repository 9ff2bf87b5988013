"""Modes in Markdown: what a file says, what it may not say, and where that is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from remit.policy.problems import Problem, Severity
from remit.policy.vocabulary import Posture
from remit.policy.workflow import Action, Artifact, Budget, Inject, substitute
from remit.profiles.library import Library
from remit.profiles.names import BUILT_IN_STAGED, RESERVED
from remit.profiles.resolution import Entry
from remit.profiles.shipped import built_in_modes, sample, samples
from remit.profiles.source import MODE_BYTES, Source, read_source

OURS = Library.load()

GOOD = """\
label: Feature
permission: chat
artifacts:
  spec:
    path: out/{{run.id}}/spec.md
    template: templates/spec.md
    requiredHeadings: [Goal]
budget: { maxTurns: 30 }
returnTo: plan
stages:
  design:
    permission: contract
    prompt: Write {{artifacts.spec.path}} for {{run.input}}.
    exit:
      - require: artifact:spec
      - ask: user
    next: build
  build:
    loop: true
    on:
      compaction:
        - inject: artifact:spec
        - inject: Go on.
    exit:
      - run: make test
        onFail: { retries: 3, goto: design }
      - run: { command: make lint, timeoutMinutes: 60 }
"""
TEMPLATES = (("templates/spec.md", "# Goal\n\n{{run.input}}\n"),)


def read(
    text: str, name: str = "tidy", templates: tuple[tuple[str, str], ...] = TEMPLATES
) -> Entry:
    """Return what becomes of a frontmatter in the folder of this name."""
    source = Source(f"---\n{text}---\nWords.\n", f"modes/{name}/mode.md", templates=templates)
    return Library.load([source]).entries[-1]


def errors(entry: Entry) -> list[tuple[str, str, int]]:
    found = [p for p in entry.problems if p.severity is Severity.ERROR]
    assert bool(found) == (entry.profile is None)
    return [(p.code, p.path, p.where.line) for p in found]


def one(entry: Entry) -> Problem:
    assert len(entry.problems) == 1, [str(p) for p in entry.problems]
    return entry.problems[0]


class TestSimple:
    def test_a_file_without_keys_has_every_default(self) -> None:
        """S000-13, S000-14: without keys, name and ceiling are given."""
        entry = read("", "tidy")
        assert entry.profile is not None
        assert (entry.name, entry.kind, entry.selectable) == ("tidy", "simple", True)
        assert entry.profile.chain == ("chat", "tidy")

    def test_prompt_and_permission(self) -> None:
        """S000-1, S000-10, S000-82: the body is the prompt, the permission a ceiling."""
        profile = read("permission: contract\n").profile
        assert profile is not None
        assert profile.ceiling.posture is Posture.READ_ONLY
        assert profile.brief is not None
        assert (profile.brief.guidance, profile.brief.verbs) == ("Words.", ())
        planned = read("permission: plan\n").profile
        assert planned is not None
        assert planned.brief is not None
        assert (planned.brief.verbs, planned.brief.required) == ((), False)

    def test_the_desktop_is_the_top_modes_alone(self) -> None:
        """S000-83: every mode in Markdown denies the tools that are the top mode's alone."""
        profile = read("").profile
        assert profile is not None
        assert "group:agent-only" in profile.ceiling.deny

    @pytest.mark.parametrize("name", sorted(RESERVED))
    def test_a_reserved_name_is_listed_and_not_used(self, name: str) -> None:
        """S000-3, S000-4: a file that takes a built-in id is a problem, and not used."""
        said = Source(f"---\nname: {name}\n---\n", "modes/x/mode.md")
        library = Library.load([said])
        assert ("reserved-name", "name", 2) in errors(library.entries[-1])
        assert library.get(name) == OURS.get(name)

    def test_a_name_of_its_own_keeps_the_file(self) -> None:
        """S000-8: a file whose name differs from its folder's stays where it is."""
        entry = read("name: other\n", "tidy")
        assert (entry.name, entry.source) == ("other", "modes/tidy/mode.md")

    def test_two_of_one_name_are_both_unused(self) -> None:
        """A mode and a profile of one name keep each other from use."""
        library = Library.load(
            [Source('name = "tidy"', "tidy.toml"), Source("---\n---\n", "m/tidy/mode.md")]
        )
        assert [e.problems[0].code for e in library.entries[-2:]] == ["duplicate-name"] * 2


class TestStaged:
    def test_every_field(self) -> None:
        """S000-12, S000-15 to S000-19: every key has its meaning, and the first stage starts."""
        entry = read(GOOD)
        flow = entry.workflow
        assert entry.problems == ()
        assert flow is not None
        assert (entry.kind, flow.name, flow.first, flow.return_to) == (
            "staged", "tidy", "design", "plan",
        )  # fmt: skip
        assert flow.budget == Budget(30, None)
        assert flow.artifacts == {
            "spec": Artifact("out/{{run.id}}/spec.md", TEMPLATES[0][1], ("Goal",))
        }
        design, build = flow.stages.values()
        assert [(g.action, g.what) for g in design.exit] == [
            (Action.REQUIRE, "spec"), (Action.ASK, "user"),
        ]  # fmt: skip
        assert (design.next, design.loop, design.asks, build.loop) == ("build", False, True, True)
        assert build.compaction == (Inject(artifact="spec"), Inject("Go on."))
        test, lint = build.exit
        assert (test.what, test.retries, test.goto, test.minutes) == ("make test", 3, "design", 10)
        assert (lint.what, lint.retries, lint.goto, lint.minutes) == ("make lint", 2, None, 60)

    def test_budget_and_return_by_default(self) -> None:
        """S000-16, S000-17: 20 turns, tokens without limit, and back to the top mode."""
        flow = read("stages: { a: {} }\n").workflow
        assert flow is not None
        assert (flow.budget, flow.return_to) == (Budget(20, None), "chat")
        assert flow.stages["a"].ends_with_turn

    @pytest.mark.parametrize(
        ("said", "cap"),
        [("{ goto: a }", 1), ("{ retries: 0 }", 1), ("{ retries: 10 }", 10), ("{}", 2)],
    )
    def test_caps(self, said: str, cap: int) -> None:
        """S000-40, S000-43: the cap is 2, with `goto` alone 1, and never below 1."""
        text = f"stages: {{ a: {{ loop: true, exit: [{{ run: x, onFail: {said} }}] }} }}\n"
        flow = read(text).workflow
        assert flow is not None
        assert flow.stages["a"].exit[0].retries == cap

    def test_a_stage_narrows_its_mode(self) -> None:
        """S000-14, S000-87: a stage has what its mode and its permission both allow."""
        stages = read(GOOD).stages
        assert stages["design"].ceiling.posture is Posture.READ_ONLY
        assert stages["build"].ceiling.posture is Posture.WRITABLE
        assert all(s.brief and s.brief.verbs == ("remit:complete_stage",) for s in stages.values())

    def test_a_wider_permission_of_a_stage_is_a_problem(self) -> None:
        """S000-87: a stage cannot name more than its mode has."""
        entry = read("permission: read-only\nstages: { a: { permission: chat } }\n")
        assert errors(entry) == [("widens-parent", "stages.a.permission", 3)]

    def test_the_sides_of_a_stage_count_both(self) -> None:
        """A stage whose permission is neither wider nor narrower is told that both hold."""
        limited = Source('name = "d"\n[ceiling]\nrefuse = ["git.push"]', "d.toml")
        text = "---\npermission: d\nstages: { a: { permission: e } }\n---\n"
        other = Source('name = "e"\n[ceiling]\nrefuse = ["git.commit"]', "e.toml")
        library = Library.load([limited, other, Source(text, "m/x/mode.md")])
        entry = library.entry("x")
        assert [p.severity for p in entry.problems][-1:] == [Severity.WARNING]
        assert {"git.push", "git.commit"} <= entry.stages["a"].ceiling.refuse

    def test_what_a_run_keeps(self) -> None:
        """A mode with stages can be chosen, and is kept whole; only ours keeps the space's dial."""
        name = BUILT_IN_STAGED[0]
        mode = OURS.staged(name)
        assert OURS.choose(name).name == name
        assert mode is not None
        assert (list(mode.stages), mode.keeps_dial) == (["work"], True)
        text = "---\nstages: { a: {} }\n---\n"
        theirs = Library.load([Source(text, "m/x/mode.md")]).staged("x")
        assert theirs is not None
        assert not theirs.keeps_dial
        assert OURS.staged("chat") is None

    def test_a_text_with_other_stages_is_not_ours(self) -> None:
        """What bears the name of a mode that is shipped is it only with the very same stages."""
        (ours,) = (s for s in built_in_modes() if s.file.endswith(f"/{BUILT_IN_STAGED[0]}/mode.md"))
        copy = evolve(ours, built_in=False, file="m/x/mode.md")
        assert OURS.examine(copy).profile is not None
        other = evolve(copy, text=copy.text.replace("loop: true", "loop: false"))
        assert "reserved-name" in [p.code for p in OURS.examine(other).problems]

    def test_where_a_run_leads(self) -> None:
        """S000-101: a mode that was deleted meanwhile is not returned to, but the top one is."""
        assert [OURS.home(n) for n in ("plan", "agent", "gone")] == ["plan", "chat", "chat"]

    def test_a_changed_profile_reaches_the_stages(self) -> None:
        """Replacing the profile that a stage names changes the stage, and nothing else is kept."""
        first = Source('name = "d"', "d.toml")
        mode = Source("---\nstages: { a: { permission: d } }\n---\n", "m/x/mode.md")
        library = Library.load([first, mode]).replace(
            Source('name = "d"\n[ceiling]\nrefuse = ["git.push"]', "d.toml")
        )
        assert "git.push" in library.entry("x").stages["a"].ceiling.refuse


#: Where GOOD is changed, into what, and the one error: code, key path, line.
BAD: dict[str, tuple[str, str, tuple[str, str, int]]] = {
    "unknown key": ("budget:", "buget:", ("unknown-key", "buget", 9)),
    "unknown key of a stage": ("loop:", "lop:", ("unknown-key", "stages.build.lop", 20)),
    "unknown event": ("compaction:", "exit:", ("unknown-key", "stages.build.on.exit", 22)),
    "unknown action": (
        "require: a", "requires: a", ("unknown-key", "stages.design.exit[0].requires", 16),
    ),
    "unknown next": ("next: build", "next: biuld", ("unknown-stage", "stages.design.next", 18)),
    "unknown goto": (
        "goto: design", "goto: x", ("unknown-stage", "stages.build.exit[0].onFail.goto", 27),
    ),
    "ask first": (
        "- require: artifact:spec\n      - ask: user",
        "- ask: user\n      - require: artifact:spec",
        ("ask-not-last", "stages.design.exit[0].ask", 16),
    ),
    "ask another": ("ask: user", "ask: me", ("unknown-value", "stages.design.exit[1].ask", 17)),
    "two actions": (
        "- ask: user", "- ask: user\n        run: x",
        ("gate-actions", "stages.design.exit[1]", 17),
    ),
    "outside": ("path: out", "path: ../out", ("artifact-path", "artifacts.spec.path", 6)),
    "absolute": ("path: out", "path: /out", ("artifact-path", "artifacts.spec.path", 6)),
    "home": ("path: out", "path: ~/out", ("artifact-path", "artifacts.spec.path", 6)),
    "git": ("path: out", "path: .git", ("artifact-path", "artifacts.spec.path", 6)),
    "input in a path": (
        "path: out/{{run.id}}", "path: out/{{run.input}}",
        ("artifact-path", "artifacts.spec.path", 6),
    ),
    "template": ("templates/s", "templates/../s", ("no-template", "artifacts.spec.template", 7)),
    "unknown artifact": (
        "require: artifact:spec", "require: artifact:spce",
        ("unknown-artifact", "stages.design.exit[0].require", 16),
    ),
    "unknown inject": (
        "inject: artifact:spec", "inject: artifact:x",
        ("unknown-artifact", "stages.build.on.compaction[0].inject", 23),
    ),
    "no such variable": (
        "{{run.input}}.", "{{run.inputs}}.", ("unknown-variable", "stages.design.prompt", 14),
    ),
    "input in a command": (
        "make test", "make {{run.input}}", ("unknown-variable", "stages.build.exit[0].run", 26),
    ),
    "retries": (
        "retries: 3", "retries: 11", ("over-limit", "stages.build.exit[0].onFail.retries", 27),
    ),
    "minutes": (
        "Minutes: 60", "Minutes: 61",
        ("over-limit", "stages.build.exit[1].run.timeoutMinutes", 28),
    ),
    "turns": ("maxTurns: 30", "maxTurns: 0", ("over-limit", "budget.maxTurns", 9)),
    "turns as text": ("maxTurns: 30", "maxTurns: '30'", ("wrong-type", "budget.maxTurns", 9)),
    "nothing": ("label: Feature", "label:", ("wrong-type", "label", 2)),
    "yes": ("loop: true", "loop: yes", ("wrong-type", "stages.build.loop", 20)),
    "unknown permission": (
        "permission: contract", "permission: contarct",
        ("unknown-parent", "stages.design.permission", 13),
    ),
    "unknown permission of the mode": (
        "permission: chat", "permission: x", ("unknown-parent", "permission", 3),
    ),
    "anchor": ("label: F", "label: &a F", ("yaml-strict", "label", 2)),
    "tag": ("label: F", "label: !!str F", ("yaml-strict", "label", 2)),
    "alias": ("label: Feature", "label: *a", ("yaml-strict", "label", 2)),
    "twice": ("budget:", "label: Again\nbudget:", ("duplicate-key", "label", 9)),
    "merge": ("budget:", "<<: { label: x }\nbudget:", ("yaml-strict", '"<<"', 9)),
    "bad id": ("  build:", "  'b d': {}\n  build:", ("bad-id", 'stages."b d"', 19)),
    "syntax": ("[Goal]", "[Goal", ("yaml-syntax", "", 9)),
    "deep": ("[Goal]", "[" * 50, ("too-deep", "", 8)),
    "long number": (
        "maxTurns: 30", f"maxTurns: {'9' * 5000}", ("number-too-large", "budget.maxTurns", 9),
    ),
    "heading": (
        "[Goal]", "[' Goal']", ("bad-text", "artifacts.spec.requiredHeadings[0]", 8),
    ),
}  # fmt: skip


class TestBad:
    @pytest.mark.parametrize(("old", "new", "expected"), BAD.values(), ids=BAD)
    def test_one_mistake_rejects_the_whole(
        self, old: str, new: str, expected: tuple[str, str, int]
    ) -> None:
        """S000-72, S000-74 to S000-78, S000-81, S000-86: one mistake rejects the file."""
        assert old in GOOD
        assert expected in errors(read(GOOD.replace(old, new, 1)))

    def test_aliases_are_never_followed(self) -> None:
        """S000-74: an alias stands for nothing, wherever it is."""
        entry = read("label: &a x\nartifacts: *a\n")
        assert [c for c, _, _ in errors(entry)] == ["yaml-strict", "yaml-strict"]
        assert [p.where.line for p in entry.problems] == [2, 3]

    def test_all_at_once(self) -> None:
        """S000-75: every mistake of a file is told in one go, and nothing of it is loaded."""
        text = GOOD.replace("next: build", "next: x").replace("loop: true", "lop: true")
        entry = read(text.replace("path: out", "path: /out").replace("label: F", "label: !!str F"))
        assert {c for c, _, _ in errors(entry)} == {
            "yaml-strict", "unknown-key", "unknown-stage", "artifact-path",
        }  # fmt: skip

    @pytest.mark.parametrize(
        ("text", "code"),
        [
            ("label: x\n", "no-frontmatter"),
            ("---\nlabel: x\n", "no-frontmatter"),
            ("---\n- a\n---\n", "yaml-syntax"),
            ("---\na: 1\n...\nb: 2\n---\n", "yaml-syntax"),
            ("---\n? [a]\n: 1\n---\n", "yaml-strict"),
            ("---\nlabel: \0\n---\n", "file-not-text"),
            ("---\n---\n" + "x" * MODE_BYTES, "file-too-large"),
        ],
    )
    def test_what_is_no_mode_at_all(self, text: str, code: str) -> None:
        """S000-79, S000-81: size and text are looked at before anything is parsed."""
        entry = Library.load([Source(text, "m/x/mode.md")]).entries[-1]
        assert (entry.name, one(entry).code, entry.profile) == ("x", code, None)

    @pytest.mark.parametrize(
        ("text", "path"),
        [
            ("stages: {}\n", "stages"),
            (f"stages: {{ {', '.join(f's{i}: {{}}' for i in range(17))} }}\n", "stages"),
            (f"stages: {{ a: {{ exit: [{', '.join(['{ run: x }'] * 9)}] }} }}\n", "stages.a.exit"),
        ],
    )
    def test_counts(self, text: str, path: str) -> None:
        """S000-79: at least one stage and at most 16, at most 8 exit gates each."""
        assert errors(read(text)) == [
            ("no-stages" if text == "stages: {}\n" else "over-limit", path, 2)
        ]

    def test_near_misses_are_named(self) -> None:
        """S000-80: what was probably meant is said."""
        entry = read(GOOD.replace("require: artifact:spec", "require: artifact:spce"))
        assert one(entry).hint == "did you mean `spec`"

    def test_a_deleted_return_is_a_warning(self) -> None:
        """S000-81: an unknown `returnTo` warns, because a mode may go while its run is open."""
        entry = read("returnTo: plna\nstages: { a: {} }\n")
        assert (one(entry).severity, one(entry).hint) == (Severity.WARNING, "did you mean `plan`")


class TestGraph:
    @pytest.mark.parametrize(
        ("a", "b", "fine"),
        [
            ("{ next: b }", "{ exit: [{ run: x, onFail: { goto: a } }] }", False),
            ("{ next: b, loop: true }", "{ exit: [{ run: x, onFail: { goto: a } }] }", True),
            ("{ next: b, exit: [{ ask: user }] }", "{ next: a }", True),
            ("{ next: b }", "{ next: b }", False),
            ("{ next: b }", "{}", True),
        ],
    )
    def test_circles(self, a: str, b: str, fine: bool) -> None:
        """S000-76, S000-81: a circle of `next` and `goto` must hold a loop or an ask."""
        entry = read(f"stages: {{ a: {a}, b: {b} }}\n")
        assert [c for c, _, _ in errors(entry)] == ([] if fine else ["stage-circle"])

    def test_what_no_stage_leads_to(self) -> None:
        """A stage that no run can come to is a warning."""
        entry = read("stages: { a: {}, b: { next: c }, c: {} }\n")
        assert [(p.code, p.path) for p in entry.problems] == [
            ("stage-unreached", "stages.b"),
            ("stage-unreached", "stages.c"),
        ]
        assert entry.profile is not None


class TestVariables:
    def test_one_pass(self) -> None:
        """S000-20: what is put in is not read again, and other braces stay."""
        flow = read(GOOD).workflow
        assert flow is not None
        text = "{{run.input}} {{ artifacts.spec.path }} {{other}} {{run.id}}"
        assert flow.fill(text, "r1", "{{run.id}}") == "{{run.id}} out/r1/spec.md {{other}} r1"

    @given(st.text(), st.text())
    def test_any_text(self, given_text: str, words: str) -> None:
        """S000-20: whatever the input says, it stands where its variable stood."""
        assert substitute("<{{run.input}}>", {"run.input": given_text}) == f"<{given_text}>"
        assert isinstance(substitute(words, {}), str)


class TestFiles:
    def test_templates_are_read_with_the_mode(self, tmp_path: Path) -> None:
        """S000-2: the files beside a mode's come with it; links lead out and do not."""
        folder = tmp_path / "tidy" / "templates"
        folder.mkdir(parents=True)
        (folder / "spec.md").write_text("# Goal\n")
        (folder / "other.md").symlink_to(tmp_path / "secret")
        (tmp_path / "tidy" / "mode.md").write_text(f"---\n{GOOD}---\n")
        source = read_source(tmp_path / "tidy" / "mode.md")
        assert source.templates == (("templates/spec.md", "# Goal\n"),)
        assert Library.load([source]).entries[-1].problems == ()

    @pytest.mark.parametrize("name", samples())
    def test_samples(self, name: str) -> None:
        """Each sample loads without a problem, and its name is anybody's to take."""
        assert OURS.examine(sample(name)).problems == ()
        assert name not in RESERVED

    def test_goal(self) -> None:
        """S000-104: one looping stage with its artifact, told again after compaction."""
        (goal,) = (OURS.entry(s.file.split("/")[1]) for s in built_in_modes())
        flow = goal.workflow
        assert flow is not None
        ((id, artifact),) = flow.artifacts.items()
        (stage,) = flow.stages.values()
        assert artifact.headings == ("Objective", "Acceptance criteria", "Evidence")
        assert "{{run.input}}" in (artifact.template or "")
        assert (stage.loop, stage.compaction) == (True, (Inject(artifact=id),))
        assert [(g.action, g.what) for g in stage.exit] == [(Action.REQUIRE, id)]
        assert flow.budget == Budget(20, None)


@given(st.text(alphabet="abon:-{}[]&*!#'\"\n \t<~1.?|>%@", max_size=80))
def test_any_text_is_judged(text: str) -> None:
    """Whatever stands between the lines of dashes, the loader ends with a mode or with problems."""
    entry = read(text)
    assert entry.profile is not None or entry.problems
