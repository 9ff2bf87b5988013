"""What is written loads back to an equal value."""

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from remit.policy.ceiling import Ceiling
from remit.policy.digest import canonical, tool_digest
from remit.policy.profile import Brief, Example, Profile, Side
from remit.policy.tools import Catalog, Learnt, Tool
from remit.policy.vocabulary import EFFECTS, Announce, Tier, Unknown, Verdict
from remit.profiles.catalogs import load_catalog, native_catalog, parse_catalog
from remit.profiles.library import Library
from remit.profiles.shipped import shipped_catalogs
from remit.profiles.source import Source
from remit.profiles.writer import write_catalog, write_profile

LIBRARY = Library.load()
EFFECT = st.sampled_from(sorted(EFFECTS))
NAME = st.from_regex(r"[a-z][a-z_]{0,8}", fullmatch=True)
SELECTOR = st.one_of(
    NAME,
    NAME.map("{}_*".format),
    NAME.map("group:{}".format),
    NAME.map("git:{}".format),
    st.sampled_from(["tier:read", "tier:write", "*"]),
)
SELECTORS = st.frozensets(SELECTOR, max_size=4)
LINE = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=12)
WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=60).filter(
    lambda t: "\0" not in t and "{{" not in t
)
PATTERNS = st.frozensets(NAME.map("{}/**".format) | NAME, min_size=1, max_size=3)

CEILINGS = st.builds(
    Ceiling,
    tier=st.sampled_from([Tier.READ, Tier.WRITE, Tier.EXECUTE]),
    refuse=st.frozensets(EFFECT, max_size=5),
    unknown=st.sampled_from(list(Unknown)),
    allow=st.just(frozenset()) | SELECTORS.map(lambda s: frozenset((s,))),
    deny=SELECTORS.map(lambda s: s - {"*"}),
    limit=st.dictionaries(EFFECT, PATTERNS.map(lambda p: frozenset((p,))), max_size=2),
)
MODES = st.sampled_from(["chat", "read-only", "plan"])
BRIEFS = st.builds(
    Brief,
    verbs=st.sampled_from([(), ("remit:submit_plan",)]),
    noun=LINE,
    nudge=WORDS,
    exit=st.sampled_from([None, "remit:exit_plan_mode"]),
    exit_to=MODES,
    children=st.lists(MODES, max_size=2).map(tuple),
    missed=st.lists(NAME, max_size=2).map(tuple),
    announce=st.sampled_from(list(Announce)),
    guidance=WORDS,
)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
ARGS = st.recursive(
    WORDS | st.integers(-(2**60), 2**60) | st.booleans() | FLOATS,
    lambda v: st.lists(v, max_size=2) | st.dictionaries(WORDS, v, max_size=2),
    max_leaves=4,
)
EXAMPLES = st.lists(
    st.builds(Example, NAME, st.dictionaries(WORDS, ARGS, max_size=2), st.sampled_from(Verdict)),
    max_size=2,
)


@st.composite
def profiles(draw: st.DrawFn) -> Profile:
    """A profile of a user, under chat, as the loader would make it."""
    brief = draw(st.none() | BRIEFS)
    if brief is not None and brief.verbs and draw(st.booleans()):
        brief = evolve(brief, required=True)
    ceiling = draw(CEILINGS)
    if brief is not None and brief.pins:
        ceiling = evolve(ceiling, deny=())  # it might name one of the verbs
    return Profile(
        "mine",
        draw(LINE),
        draw(st.just("") | LINE),
        "chat",
        draw(st.booleans()),
        (*LIBRARY.default.sides, Side("mine", ceiling)),
        brief,
        brief,
        tuple(draw(EXAMPLES)),
    )


class TestProfiles:
    @settings(max_examples=80, deadline=None)
    @given(profiles())
    def test_a_written_profile_loads_back_equal(self, profile: Profile) -> None:
        """Every key comes back, whatever letters its words hold."""
        assert LIBRARY.parse(Source(write_profile(profile), "mine.toml")) == profile

    @pytest.mark.parametrize("name", [e.name for e in LIBRARY.entries if e.workflow is None])
    def test_a_built_in_profile_written_out_is_that_profile(self, name: str) -> None:
        """`show --format toml` can be loaded although its name is reserved: it claims nothing.

        A mode with stages is more than its profile, so that alone is not the mode.
        """
        text = write_profile(LIBRARY.get(name))
        assert LIBRARY.parse(Source(text, "out.toml")) == LIBRARY.get(name)
        changed = text + '\n[[example]]\ncall = { tool = "x" }\nverdict = "ask"\n'
        entry = LIBRARY.examine(Source(changed, "out.toml"))
        assert [p.code for p in entry.problems] == ["reserved-name"]

    def test_what_is_as_the_parent_is_not_written(self) -> None:
        """A file says only what it states itself."""
        source = Source('name = "mine"\nextends = "plan"\n', "mine.toml")
        assert write_profile(LIBRARY.parse(source)) == source.text

    def test_an_overlay_is_no_part_of_the_file(self) -> None:
        """What narrows a profile besides its parents is not written."""
        profile = LIBRARY.get("plan")
        assert write_profile(profile.under(Side("overlay", Ceiling(deny=["x"])))) == write_profile(
            profile
        )


TOOLS = st.lists(
    st.builds(
        Tool,
        source=st.just("mine"),
        name=st.from_regex(r"[A-Za-z0-9_.:/-]{1,12}", fullmatch=True),
        tier=st.sampled_from([Tier.READ, Tier.WRITE, Tier.EXECUTE]),
        effects=st.frozensets(EFFECT, max_size=3),
        groups=st.frozensets(NAME, max_size=2),
        verb=st.booleans(),
    ),
    unique_by=lambda t: t.name,
    min_size=1,
    max_size=4,
)


class TestCatalogues:
    @given(WORDS | st.none(), st.dictionaries(WORDS, WORDS, max_size=3) | st.none())
    def test_what_was_learnt_loads_back_equal(
        self, description: str | None, schema: dict[str, str] | None
    ) -> None:
        """A pin and the words beside it come back, whatever letters they hold."""
        text = None if schema is None else canonical(schema)
        pin = tool_digest("x", description, schema)
        learnt = Learnt(pin, description if text else None, text)
        catalog = Catalog([Tool("mine", "x", effects=(), learnt=learnt)])
        back = parse_catalog(Source(write_catalog(catalog), "mine.toml")).require()
        assert back == catalog

    @settings(max_examples=100, deadline=None)
    @given(TOOLS, st.sampled_from(["effects", "undeclared", "classify"]))
    def test_a_written_catalogue_loads_back_equal(self, tools: list[Tool], kind: str) -> None:
        """Declared, undeclared and classified tools come back."""

        def changed(tool: Tool) -> Tool:
            if kind == "undeclared":
                return evolve(tool, effects=(), declared=False, verb=False)
            if kind == "classify":
                least = [(e,) for e in tool.effects]
                return evolve(tool, classify="path", least=least, verb=False)
            return tool

        catalog = Catalog(map(changed, tools))
        loaded = parse_catalog(Source(write_catalog(catalog), "file.toml"))
        assert loaded.problems == ()
        assert loaded.catalog == catalog

    @pytest.mark.parametrize("name", shipped_catalogs())
    def test_a_shipped_catalogue_written_out_is_that_catalogue(self, name: str) -> None:
        """Nothing of ours is lost on the way."""
        catalog = load_catalog(name)
        assert parse_catalog(Source(write_catalog(catalog), "x.toml")).require() == catalog

    def test_comments_stand_above_their_tool(self) -> None:
        """Each line of a comment is one, and holds no control character."""
        catalog = Catalog([Tool("mine", "x", Tier.READ)])
        text = write_catalog(catalog, {"x": "first\nsecond\x07"})
        assert text == (
            'source = "mine"\n\n# first\n# second \n[tools.x]\ntier = "read"\neffects = []\n'
        )

    def test_a_file_has_one_source(self) -> None:
        """Tools of two sources are two files."""
        both = Catalog.union(load_catalog("mcp-git"), native_catalog())
        with pytest.raises(ValueError, match="one source"):
            write_catalog(both)
