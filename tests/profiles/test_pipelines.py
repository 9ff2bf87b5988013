"""Pipelines are read from TOML and YAML, strictly, with places."""

from __future__ import annotations

import time

import pytest

from remit.policy.pipeline import ModeFrom
from remit.profiles.names import ALIASES, BUILT_IN
from remit.profiles.pipelines import PipelineReading, parse_pipeline
from remit.profiles.source import Source

TOML = """\
name = "notes"
default = "plan"
allowed = ["plan", "review", "orchestrate"]

[[nodes]]
key = "look"
title = "Look"
extras = { mode = "review" }

[[nodes]]
key = "say"
title = "Say"
depends_on = ["look"]
"""
YAML = """\
name: notes
default: plan
allowed: [plan, review, orchestrate]
nodes:
  - key: look
    title: Look
    extras: {mode: review}
  - key: say
    title: Say
    depends_on: [look]
"""


def read(text: str, file: str = "p.toml") -> PipelineReading:
    return parse_pipeline(Source(text, file), BUILT_IN, ALIASES)


def found(text: str, file: str = "p.toml") -> list[tuple[str, int, int]]:
    reading = read(text, file)
    assert reading.pipeline is None
    assert reading.steps == ()
    return [(p.code, p.where.line, p.where.column) for p in reading.problems]


@pytest.mark.parametrize(("text", "file"), [(TOML, "p.toml"), (YAML, "p.yaml"), (YAML, "p.yml")])
def test_steps_say_their_mode_and_where_it_is_from(text: str, file: str) -> None:
    """A pinned mode has the place that pins it, the default the place that sets it."""
    reading = read(text, file)

    assert reading.problems == ()
    look, say = reading.steps
    assert (look.mode.mode, look.mode.origin) == ("review", ModeFrom.PINNED)
    assert (
        text.splitlines()[look.where.line - 1][look.where.column - 1 :]
        .strip('"')
        .startswith("review")
    )
    assert (say.mode.mode, say.mode.origin, say.where.line) == ("plan", ModeFrom.DEFAULT, 2)
    assert say.node.depends_on == ("look",)


def test_both_spellings_are_one_pipeline() -> None:
    """The same pipeline in TOML and YAML is equal."""
    assert read(TOML).pipeline == read(YAML, "p.yaml").pipeline


def test_no_default_is_review() -> None:
    """Where nobody says a mode, a step changes nothing."""
    reading = read('name = "n"\n[[nodes]]\nkey = "a"\ntitle = "A"\n')

    (step,) = reading.steps
    assert (step.mode.mode, step.where.line) == ("review", 0)


def test_an_alias_is_the_mode_it_means() -> None:
    """A pinned alias is resolved before anything is compared with it."""
    reading = read('name = "n"\nallowed = ["chat", "review"]\n[[nodes]]\nkey = "a"\ntitle = "A"\n'
                   'extras = { mode = "agent" }\n')  # fmt: skip

    assert reading.steps[0].mode.mode == "chat"


@pytest.mark.parametrize("mode", BUILT_IN)
def test_any_mode_can_be_pinned(mode: str) -> None:
    """A pipeline that does not say what it allows allows every mode, orchestrate too (S003-22)."""
    reading = read(f'name = "n"\n[[nodes]]\nkey = "a"\ntitle = "A"\nextras = {{ mode = "{mode}" }}')

    assert [s.mode.mode for s in reading.steps] == [mode]


def test_every_problem_at_once_with_its_place() -> None:
    """Shape, pins and graph are told in one go, in the order of the file."""
    text = (
        'name = "n"\nallowed = ["chta"]\ncolour = "red"\n'
        '[[nodes]]\nkey = "a"\ntitle = 3\n'
        '[[nodes]]\nkey = "b"\ntitle = "B"\nmode = "chat"\n'
        '[[nodes]]\nkey = "c"\ntitle = "C"\nextras = { Mode = "chat" }\ndepends_on = ["c"]\n'
    )

    assert found(text) == [
        ("step-mode-not-allowed", 1, 1),
        ("step-mode-unknown", 2, 12),
        ("unknown-key", 3, 1),
        ("wrong-type", 6, 9),
        ("unknown-key", 10, 1),
        ("step-mode-key", 14, 12),
        ("step-self", 15, 15),
    ]
    hints = {p.code: p.hint for p in read(text).problems}
    assert "extras" in next(p for p in read(text).problems if p.where.line == 10).hint
    assert hints["step-mode-unknown"] == "did you mean `chat`"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("name: n\nnodes: &x []\n", "yaml-part"),
        ("name: !!str n\nnodes: []\n", "yaml-part"),
        ("name: n\nname: m\nnodes: []\n", "duplicate-key"),
        ("name: n\nnodes: [\n", "yaml-syntax"),
        ("name: n\n---\nname: m\n", "yaml-syntax"),
        ("- name\n", "wrong-type"),
        ("name: n\nnodes: []\n1: x\n", "wrong-type"),
        ("name: 2026-01-01\nnodes: []\n", "yaml-part"),
        ("name: yes\nnodes: []\n", "wrong-type"),
        ("name: n\nnodes: []\n<<: {a: 1}\n", "wrong-type"),
        ("name: " + "[" * 40 + "]" * 40 + "\nnodes: []\n", "too-deep"),
        ("name: n\nnodes: []\n", "step-none"),
        ("", "missing-key"),
    ],
)
def test_yaml_says_what_toml_could(text: str, code: str) -> None:
    """Aliases, tags, second keys, dates and truths in place of text are problems with a place."""
    assert code in [c for c, *_ in found(text, "p.yaml")]


def test_aliases_of_aliases_cost_nothing() -> None:
    """A small text that would unfold to a large one is refused before it is."""
    text = "a: &a [x]\n" + "".join(f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join([f'*{chr(97 + i)}'] * 9)}]\n" for i in range(20))  # fmt: skip # noqa: E501

    assert found(text, "p.yaml")[0][0] == "yaml-part"


@pytest.mark.parametrize("file", ["p.toml", "p.yaml"])
def test_ten_thousand_nodes_take_under_a_second(file: str) -> None:
    """Checking is linear in the nodes."""
    if file == "p.toml":
        nodes = "".join(
            f'[[nodes]]\nkey = "k{i}"\ntitle = "T"\ndepends_on = ["k{i - 1}"]\n'
            'extras = { mode = "review" }\n' if i else '[[nodes]]\nkey = "k0"\ntitle = "T"\n'
            for i in range(10_000)
        )  # fmt: skip
        text = f'name = "n"\n{nodes}'
    else:
        nodes = "".join(
            f"  - {{key: k{i}, title: T, depends_on: [{f'k{i - 1}' if i else ''}], "
            "extras: {mode: review}}\n"
            for i in range(10_000)
        )
        text = f"name: n\nnodes:\n{nodes}"
    start = time.process_time()

    reading = read(text, file)

    assert reading.problems == ()
    assert len(reading.pipeline.nodes if reading.pipeline else ()) == 10_000
    assert time.process_time() - start < 2
