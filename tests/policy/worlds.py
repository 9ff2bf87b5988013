"""Random worlds for properties: ceilings, briefs, catalogues and what calls were found to do."""

from __future__ import annotations

from hypothesis import strategies as st

from remit.policy.ceiling import Ceiling
from remit.policy.gate import Setting
from remit.policy.profile import Brief, Profile, Side
from remit.policy.tools import NATIVE, CallEffects, Catalog, Tool
from remit.policy.vocabulary import EFFECTS, Tier, Unknown, Verdict

NAMES = [f"{verb}_{noun}" for verb in ("read", "write", "run") for noun in ("a", "b", "c")]
SOURCES = ["git", "web", "fs"]
GROUPS = ["git", "research", "memory"]
#: A classifier that every generated catalogue knows; what it finds is generated too.
CLASSIFIER = "look"

effect_sets = st.frozensets(st.sampled_from(sorted(EFFECTS)), max_size=3)

selectors = st.one_of(
    st.sampled_from([*NAMES, "read_*", "*_b", "*"]),
    st.builds("{}:{}".format, st.sampled_from(SOURCES), st.sampled_from(["*", "read_*"])),
    st.builds("group:{}".format, st.sampled_from(GROUPS)),
    st.builds("tier:{}".format, st.sampled_from([t.value for t in Tier])),
)
lists = st.frozensets(st.frozensets(selectors, max_size=4), max_size=2)
patterns = st.sampled_from(["docs/**", "!docs/private/**", "src/*.py", "**"])
targets = st.sampled_from(["docs/a.md", "docs/private/k", "src/a.py", "README.md"])

ceilings = st.builds(
    Ceiling,
    tier=st.sampled_from(Tier),
    refuse=effect_sets,
    unknown=st.sampled_from(Unknown),
    allow=lists,
    deny=st.frozensets(selectors, max_size=2),
    limit=st.dictionaries(
        st.sampled_from(["worktree.write", "git.push"]),
        st.frozensets(st.frozensets(patterns, min_size=1, max_size=2), min_size=1, max_size=2),
        max_size=1,
    ),
)

NATIVES = (
    Tool(NATIVE, "mode", Tier.READ),
    Tool(NATIVE, "ask_user", Tier.READ),
    Tool(NATIVE, "submit_plan", Tier.WRITE, {"record.write"}, verb=True),
    Tool(NATIVE, "exit_plan_mode", Tier.READ, exit=True),
    Tool(NATIVE, "nothing_to_deliver", Tier.READ),
)


@st.composite
def tools(draw: st.DrawFn, source: str, name: str) -> Tool:
    declared = draw(st.integers(0, 4)) > 0
    effects = draw(effect_sets) if declared else frozenset()
    classified = declared and draw(st.booleans())
    least = draw(st.lists(st.sampled_from(sorted(effects)), max_size=2)) if effects else []
    return Tool(
        source,
        name,
        draw(st.sampled_from(Tier)),
        effects,
        draw(st.frozensets(st.sampled_from(GROUPS), max_size=2)),
        CLASSIFIER if classified else None,
        [[e] for e in least] if classified else (),
        declared,
    )


@st.composite
def catalogs(draw: st.DrawFn) -> Catalog:
    keys = draw(
        st.lists(
            st.tuples(st.sampled_from(SOURCES), st.sampled_from(NAMES)),
            unique=True,
            min_size=1,
            max_size=8,
        )
    )
    own = [draw(tools(source, name)) for source, name in keys]
    return Catalog((*own, *NATIVES), {CLASSIFIER})


briefs = st.one_of(
    st.none(),
    st.builds(
        Brief,
        verbs=st.sampled_from([(), ("remit:submit_plan",)]),
        exit=st.sampled_from([None, "remit:exit_plan_mode"]),
    ),
    st.just(Brief(("remit:submit_plan",), True, "plan", exit="remit:exit_plan_mode")),
)

profiles = st.builds(
    lambda ceilings, brief: Profile(
        "made", sides=tuple(Side(f"s{i}", c) for i, c in enumerate(ceilings)), brief=brief
    ),
    st.lists(ceilings, min_size=1, max_size=3),
    briefs,
)

found = st.builds(
    CallEffects,
    effect_sets,
    st.dictionaries(
        st.sampled_from(["worktree.write", "git.push"]),
        st.lists(targets, min_size=1, max_size=2).map(tuple),
        max_size=2,
    ),
    st.booleans(),
    st.sampled_from([(), (), (), (".git/hooks",)]),
)

settings = st.lists(
    st.builds(
        Setting,
        st.sampled_from(sorted(EFFECTS)),
        st.sampled_from(Verdict),
        st.one_of(st.none(), patterns.filter(lambda p: not p.startswith("!"))),
    ),
    max_size=2,
).map(tuple)
