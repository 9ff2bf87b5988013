"""Profiles find their parents, and one that cannot work is listed and unavailable."""

from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remit.policy.ceiling import TOP
from remit.policy.problems import CODES, InputError, Position, Severity
from remit.policy.profile import Brief
from remit.policy.tools import Catalog, Tool
from remit.policy.vocabulary import EFFECTS, EffectClass, Posture, Tier, Unknown, world_changing
from remit.profiles.catalogs import native_catalog
from remit.profiles.ceilings import parse_overlay
from remit.profiles.library import Library
from remit.profiles.source import Source

OURS = Library.load()


def load(**texts: str) -> Library:
    """Load profiles, each text in a file of its name; ``name`` is added."""
    return Library.load(
        Source(f'name = "{n.replace("_", "-")}"\n{t}', f"{n}.toml") for n, t in texts.items()
    )


def brief_of(library: Library, name: str) -> Brief:
    brief = library.get(name).brief
    assert brief is not None
    return brief


def codes(library: Library) -> list[tuple[str, str]]:
    return [(p.where.file.removesuffix(".toml"), p.code) for p in library.problems]


class TestInheritance:
    def test_the_ceiling_is_the_meet_of_the_chain(self) -> None:
        """A mode has what each of its ancestors leaves, and each side is named."""
        library = load(
            a='extends = "read-only"\n[ceiling]\ntier = "write"\nallow = ["tier:read"]',
            b='extends = "a"\n[ceiling]\nallow = ["group:x"]\ndeny = ["y"]',
        )
        profile = library.get("b")
        assert profile.chain == ("chat", "read-only", "a", "b")
        assert profile.ceiling.tier is Tier.WRITE
        assert profile.ceiling.unknown is Unknown.REFUSE
        assert profile.ceiling.allow == {frozenset({"tier:read"}), frozenset({"group:x"})}
        assert profile.ceiling.refuse == world_changing()

    def test_without_a_parent_named_it_is_the_top(self) -> None:
        """A profile that names no parent narrows chat."""
        profile = load(a="").get("a")
        assert (profile.extends, profile.ceiling, profile.silent) == ("chat", TOP, True)

    def test_a_brief_is_the_parents_or_its_own_and_never_both(self) -> None:
        """No brief means the parent's, one means its own, whole."""
        library = load(a='extends = "plan"', b='extends = "plan"\n[brief]\nnoun = "note"')
        plan = library.get("plan").brief
        assert library.get("a").brief == plan
        assert library.get("a").own_brief is None
        brief = brief_of(library, "b")
        assert (brief.noun, brief.verbs, brief.exit, brief.required) == ("note", (), None, False)
        assert (brief.exit_to, brief.children) == ("chat", ("read-only",))

    def test_old_names_of_modes_are_put_into_ours(self) -> None:
        """Parents, exits and children may be given by alias."""
        library = load(
            a='extends = "contract"\n[brief]\nexit_to = "agent"\nchildren = ["contract", "none"]'
        )
        profile = library.get("a")
        assert profile.extends == "read-only"
        brief = brief_of(library, "a")
        assert (brief.exit_to, brief.children) == ("chat", ("read-only", "chat"))

    @pytest.mark.parametrize("spelling", ['posture = "read-only"', 'refuse = ["worktree.write"]'])
    def test_posture_and_refusal_are_one_fact(self, spelling: str) -> None:
        """Either spelling gives both."""
        ceiling = load(a=f'[ceiling]\n{spelling}\nunknown = "refuse"').get("a").ceiling
        assert ceiling.posture is Posture.READ_ONLY
        assert ceiling.refuse == {"worktree.write"}

    def test_globs_and_the_word_expand_over_what_is_known(self) -> None:
        """`git.*` is every class with that prefix, `world-changing` plugins' classes too."""
        known = {**EFFECTS, "git.tag": EffectClass("git.tag", "tags")}
        source = Source('name = "a"\n[ceiling]\nrefuse = ["git.*"]\nunknown = "refuse"', "a.toml")
        library = Library.load([source], known=known)
        assert library.get("a").ceiling.refuse == {"git.commit", "git.push", "git.tag"}
        assert library.get("plan").ceiling.refuse == world_changing(known)
        assert "git.tag" in library.get("plan").ceiling.refuse

    def test_a_limit_may_be_given_by_glob(self) -> None:
        """Each class that a limit names has it; two limits of one class contradict each other."""
        limit = '[ceiling.limit]\n"git.*" = ["origin refs/heads/x/*"]'
        patterns = frozenset({frozenset({"origin refs/heads/x/*"})})
        assert load(a=limit).get("a").ceiling.limit == {
            "git.commit": patterns,
            "git.push": patterns,
        }
        assert codes(load(a=f'{limit}\n"git.push" = ["y"]')) == [("a", "contradiction")]

    @settings(max_examples=40, deadline=None)
    @given(st.lists(st.integers(0, 5), min_size=1, max_size=7), st.randoms())
    def test_no_chain_is_wider_than_its_parent(self, picks: list[int], random: Random) -> None:
        """Whatever the files say and in whatever order they come, a child is no wider."""
        parts = ['tier = "write"', 'tier = "read"', 'refuse = ["git.*"]', 'allow = ["group:x"]',
                 'deny = ["y"]', 'unknown = "refuse"']  # fmt: skip
        sources = []
        for i, pick in enumerate(picks):
            parent = f'extends = "m{i - 1}"\n' if i else ""
            text = f'name = "m{i}"\n{parent}[ceiling]\n{parts[pick]}'
            sources.append(Source(text, f"m{i}.toml"))
        random.shuffle(sources)
        library = Library.load(sources)
        for entry in library.entries:
            if entry.profile and entry.profile.extends:
                above = library.get(entry.profile.extends).ceiling
                assert entry.profile.ceiling.narrower_or_equal(above)


class TestWidening:
    @pytest.mark.parametrize(
        ("key", "value", "held"),
        [
            ("tier", "execute", "write"),
            ("unknown", "ask", "refuse"),
            ("posture", "writable", "read-only"),
        ],
    )
    def test_a_key_that_tries_to_widen_is_said_outright(
        self, key: str, value: str, held: str
    ) -> None:
        """A meet would ignore it; the author hears of it, at the key."""
        library = load(a='extends = "plan"', b=f'extends = "a"\n[ceiling]\n{key} = "{value}"')
        (problem,) = library.problems
        assert problem.code == "widens-parent"
        assert (problem.where.line, problem.path) == (4, f"ceiling.{key}")
        assert f"`{value}`" in problem.message
        assert f"`{held}`" in problem.message

    def test_saying_again_what_the_parent_says_is_no_widening(self) -> None:
        """The same tier, posture and unknown load."""
        text = 'extends = "plan"\n[ceiling]\ntier = "write"\nposture = "read-only"'
        assert load(a=f'{text}\nunknown = "refuse"').problems == ()

    def test_a_refusal_that_an_approval_can_pass_is_warned_of(self) -> None:
        """Refusing effects while the unknown asks is a fence, not a wall: a warning."""
        library = load(a='[ceiling]\nrefuse = ["git.push"]', b='extends = "a"')
        assert codes(library) == [("a", "porous-refusal"), ("b", "porous-refusal")]
        assert {p.severity for p in library.problems} == {Severity.WARNING}
        assert library.get("b").ceiling.refuse == {"git.push"}


class TestUnavailable:
    def test_what_did_not_load_is_listed_with_its_problems(self) -> None:
        """A broken mode has a name, problems and no profile; asking for it tells why."""
        library = load(good="", bad='extends = "chatt"')
        assert "bad" in library.names()
        assert library.entry("bad").profile is None
        with pytest.raises(InputError) as caught:
            library.get("bad")
        assert caught.value.problems[0].code == "unknown-parent"
        assert caught.value.problems[0].hint == "did you mean `chat`"
        assert library.get("good").name == "good"

    def test_a_text_that_is_no_toml_is_listed_under_its_files_name(self) -> None:
        """Where no name can be read, the file's own stands in."""
        library = Library.load([Source("name = ", "broken.toml")])
        assert library.entry("broken").profile is None

    def test_a_child_of_a_broken_parent_is_unavailable(self) -> None:
        """No ceiling is made of fewer sides than its file says."""
        library = load(a="[ceiling]\ntear = 1", b='extends = "a"', c='extends = "b"')
        assert codes(library) == [
            ("a", "unknown-key"),
            ("b", "broken-parent"),
            ("c", "broken-parent"),
        ]

    def test_a_cycle_takes_all_of_its_members_and_their_children(self) -> None:
        """Each member is told the whole circle; what hangs on it is broken too."""
        library = load(
            a='extends = "b"', b='extends = "c"', c='extends = "a"', d='extends = "a"', e=""
        )
        assert codes(library) == [
            ("a", "parent-cycle"),
            ("b", "parent-cycle"),
            ("c", "parent-cycle"),
            ("d", "broken-parent"),
        ]
        assert "`b` extends `c` extends `a` extends `b`" in library.problems[1].message

    def test_a_long_line_of_parents_needs_no_stack(self) -> None:
        """Eight hundred generations resolve, in whatever order the files come."""
        names = [f"m{i}" for i in range(800)]
        texts = {n: f'extends = "{names[i + 1]}"' for i, n in enumerate(names[:-1])}
        library = load(**texts, m799="")
        assert library.problems == ()
        assert len(library.get("m0").chain) == 801

    def test_two_files_of_one_name_are_both_unavailable(self) -> None:
        """Which of two files counts is not left to their order."""
        sources = [Source('name = "a"\n', "x.toml"), Source('name = "a"\n', "y.toml")]
        for given_sources in (sources, sources[::-1]):
            library = Library.load(given_sources)
            assert [p.code for p in library.problems] == ["duplicate-name"] * 2
            with pytest.raises(InputError, match="also that of"):
                library.get("a")

    @pytest.mark.parametrize("name", ["plan", "chat", "agent", "off", "contract", "goal"])
    def test_nobody_takes_a_reserved_name(self, name: str) -> None:
        """A file that claims one is listed with its problem; the built-in mode keeps working."""
        library = Library.load([Source(f'name = "{name}"\nintent = "mine"', "mine.toml")])
        assert [p.code for p in library.problems] == ["reserved-name"]
        if name in Library.load().names():
            assert library.get(name).origin == "built-in"

    def test_a_broken_file_called_like_a_built_in_mode_does_not_take_it(self) -> None:
        """The built-in plan stays when a user's plan.toml cannot be read."""
        library = Library.load([Source("name = ", "plan.toml")])
        assert library.get("plan").origin == "built-in"
        assert [p.code for p in library.problems] == ["toml-syntax"]

    def test_all_problems_are_told_at_once(self) -> None:
        """Shape, words, verbs, parent: one load tells them all, in the order of the file."""
        text = """
            extends = "plan"
            [ceiling]
            tier = "execute"
            refuse = ["git.psuh", 4]
            deny = ["tier:exec"]
            tear = 1
            [brief]
            verbs = ["submit_paln"]
            children = ["plann"]
            required = "yes"
            guidance = "{{what}}"
        """
        found = {(p.code, p.path) for p in load(a=text).problems}
        assert found == {
            ("unknown-effect", "ceiling.refuse[0]"),
            ("wrong-type", "ceiling.refuse[1]"),
            ("unknown-key", "ceiling.tear"),
            ("wrong-type", "brief.required"),
            ("unknown-value", "ceiling.deny[0]"),
            ("unknown-verb", "brief.verbs[0]"),
            ("unknown-placeholder", "brief.guidance"),
            ("unknown-mode", "brief.children[0]"),
            ("widens-parent", "ceiling.tier"),
        }

    @settings(max_examples=120, deadline=None)
    @given(
        st.dictionaries(
            st.sampled_from(["name", "label", "extends", "ceiling", "brief", "example", "x"]),
            st.recursive(
                st.sampled_from(['"plan"', "1", "true", "[]", "{}", '"{{x}}"', "1979-05-27"]),
                lambda v: (
                    st.lists(v, max_size=2).map(lambda xs: f"[{', '.join(xs)}]")
                    | st.dictionaries(
                        st.sampled_from(["tier", "refuse", "limit", "verbs", "call", "args", "y"]),
                        v,
                        max_size=2,
                    ).map(lambda d: "{" + ", ".join(f"{k} = {w}" for k, w in d.items()) + "}")
                ),
                max_leaves=5,
            ),
        )
    )
    def test_no_file_makes_the_loader_fail_or_stay_silent(self, data: dict[str, str]) -> None:
        """Whatever a file holds, it is a profile or it has a problem with a known code."""
        text = "\n".join(f"{k} = {v}" for k, v in data.items())
        entry = OURS.examine(Source(text, "a.toml"))
        assert (entry.profile is None) == any(p.severity is Severity.ERROR for p in entry.problems)
        assert all(p.code in CODES and p.where.line for p in entry.problems)


class TestVerbs:
    def test_a_bare_name_becomes_the_key_of_the_one_verb_of_that_name(self) -> None:
        """Verbs and exits are kept by source and name."""
        library = load(a='[brief]\nverbs = ["submit_plan"]\nexit = "remit:exit_plan_mode"')
        brief = brief_of(library, "a")
        assert brief.verbs == ("remit:submit_plan",)
        assert brief.exit == "remit:exit_plan_mode"

    def test_an_operators_verb_counts_and_an_ambiguous_name_does_not(self) -> None:
        """A platform's own catalogue gives verbs; a name that two bear must be spelt out."""
        own = [
            Tool("mine", "publish", verb=True),
            Tool("mine", "submit_plan", verb=True),
            Tool("mine", "judged", classify="x", verb=True),
            Tool("mine", "unsaid", declared=False, verb=True),
            Tool("mine", "plain"),
        ]
        tools = Catalog((*native_catalog().tools, *own))

        def problems(verb: str) -> list[str]:
            source = Source(f'name = "a"\n[brief]\nverbs = ["{verb}"]', "a.toml")
            return [p.code for p in Library.load([source], tools).problems]

        assert problems("publish") == []
        assert problems("mine:submit_plan") == []
        assert problems("submit_plan") == ["ambiguous-verb"]
        assert problems("judged") == ["verb-classified"]
        assert problems("unsaid") == ["verb-undeclared"]
        assert problems("plain") == ["not-a-verb"]
        assert problems("publsh") == ["unknown-verb"]

    def test_no_mode_denies_its_own_verb(self) -> None:
        """S003-5, S003-18: an entry that denies the verb, its own or a parent's, does not load."""
        library = load(
            a='[ceiling]\ndeny = ["submit_plan"]',
            b='extends = "a"\n[brief]\nverbs = ["submit_plan"]',
            c='extends = "plan"\n[ceiling]\ndeny = ["remit:*"]',
            d='[ceiling]\ndeny = ["*_plan", "ask_user"]',
        )
        assert codes(library) == [
            ("b", "verb-denied"),
            ("c", "verb-denied"),
            ("c", "verb-denied"),
            ("d", "verb-denied"),
        ]
        assert library.problems[-1].path == "ceiling.deny[1]"


class TestPlaces:
    def test_each_fact_has_the_place_that_states_it(self) -> None:
        """Facts of each side, own keys, and the brief wherever it comes from."""
        library = load(a='extends = "plan"\n[ceiling]\nrefuse = ["git.*"]\ndeny = ["x", "y"]')
        profile = library.get("a")
        where = profile.sides[-1].where
        assert where["refuse.git.push"] == Position("a.toml", 4, 11)
        assert where["deny.y"] == Position("a.toml", 5, 14)
        assert profile.where["extends"] == Position("a.toml", 2, 1)
        assert profile.where["brief.verbs"].file == "built-in/plan.toml"
        side = next(s for s in profile.sides if s.name == "read-only")
        assert side.where["refuse.git.push"].file == "built-in/read-only.toml"
        assert "tier" in profile.sides[-2].where
        assert "tier" not in where

    def test_an_example_has_its_place(self) -> None:
        """Examples are found by number."""
        text = '[[example]]\ncall = { tool = "x" }\nverdict = "ask"\n'
        profile = load(a=text + text).get("a")
        assert profile.where["example[1]"].line == 5


class TestChange:
    def test_replacing_a_file_is_loading_anew(self) -> None:
        """A library with a file replaced equals one that was loaded so, children included."""
        before = {"a": "[ceiling]\ntier = 'write'", "b": 'extends = "a"', "c": ""}
        after = before | {"a": "[ceiling]\ntier = 'read'"}
        library = load(**before).replace(Source(f'name = "a"\n{after["a"]}', "a.toml"))
        assert library.entries == load(**after).entries
        assert library.get("b").ceiling.tier is Tier.READ

    def test_a_name_that_goes_is_missed(self) -> None:
        """A renamed parent breaks its children, and a second claim breaks both."""
        library = load(a="", b='extends = "a"', c='[brief]\nexit_to = "a"')
        gone = library.replace(Source('name = "z"', "a.toml"))
        assert codes(gone) == [("b", "unknown-parent"), ("c", "unknown-mode")]
        twice = library.replace(Source('name = "a"', "new.toml"))
        assert codes(twice) == [
            ("a", "duplicate-name"),
            ("b", "broken-parent"),
            ("new", "duplicate-name"),
        ]

    def test_a_file_by_path_stands_for_itself(self, tmp_path: Path) -> None:
        """A profile given by path needs no place in the library, and shadows its own old self."""
        file = tmp_path / "other.toml"
        file.write_text('name = "a"\nextends = "plan"')
        library = load(a="")
        assert library.read(file).extends == "plan"
        assert library.get("a").extends == "chat"


class TestNames:
    def test_an_unknown_mode_is_told_with_near_misses(self) -> None:
        """`plna` is no mode; which one was meant is said."""
        with pytest.raises(InputError) as caught:
            Library.load().get("plna")
        (problem,) = caught.value.problems
        assert (problem.code, problem.hint) == ("unknown-mode", "did you mean `plan`")

    def test_aliases_of_old_callers_resolve(self) -> None:
        """Old names are chat or read-only; others mean themselves."""
        library = Library.load()
        for alias in ("agent", "default", "build", "off", "none"):
            assert library.get(alias) is library.default
        assert library.resolve("contract") == "read-only"
        assert library.resolve("x") == "x"
        assert library.aliases("read-only") == ("contract",)

    def test_children_default_to_read_only(self) -> None:
        """A mode without a brief lets an agent start read-only ones alone."""
        library = Library.load()
        assert library.children(library.default) == ("read-only",)


class TestOverlays:
    def test_an_overlay_is_a_side(self) -> None:
        """A file with one ceiling narrows whatever mode it is laid over."""
        side = parse_overlay(Source('[ceiling]\ndeny = ["x"]', "o.toml"))
        profile = Library.load().default.under(side)
        assert profile.ceiling.deny == {"x"}
        assert profile.sides[-1].where["deny.x"] == Position("o.toml", 2, 9)

    @pytest.mark.parametrize(
        ("text", "code"),
        [
            ("[ceiling]\ndeny = ['tier:x']", "unknown-value"),
            ("[brief]\nnoun = 'x'\n[ceiling]", "unknown-key"),
            ("", "missing-key"),
        ],
    )
    def test_a_bad_overlay_is_refused(self, text: str, code: str) -> None:
        """An overlay is as strict as a profile, and holds nothing but a ceiling."""
        with pytest.raises(InputError) as caught:
            parse_overlay(Source(text, "o.toml"))
        assert [p.code for p in caught.value.problems] == [code]
