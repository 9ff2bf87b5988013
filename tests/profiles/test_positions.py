"""Every key and value of a TOML or JSON text is found where it stands."""

import json
import re
import tomllib
from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from remit.profiles.json_positions import locate_json
from remit.profiles.positions import DEPTH, KeyPath, Located, key_path, locate

KEYS = st.one_of(
    st.from_regex(r"[A-Za-z0-9_-]{1,6}", fullmatch=True),
    st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=5),
)
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=12).filter(
    lambda t: not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", t)
)
SCALARS = st.one_of(
    TEXTS,
    st.integers(-(2**40), 2**40),
    st.booleans(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.datetimes(),
)
BLANKS = st.sampled_from(["", " ", "\t", "  "])
BREAKS = st.sampled_from(["", "\n", " # [it's] {a = 1}\n", "\n\n", " "])


@st.composite
def written_key(draw: st.DrawFn, key: str) -> str:
    if re.fullmatch(r"[A-Za-z0-9_-]+", key) and draw(st.booleans()):
        return key
    if "'" not in key and draw(st.booleans()):
        return f"'{key}'"
    return '"' + key.replace("\\", "\\\\").replace('"', '\\"') + '"'


@st.composite
def written(draw: st.DrawFn, value: Any) -> str:
    """Write a value in one of the ways that TOML has for it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        basic = value.replace("\\", "\\\\").replace('"', '\\"')
        if draw(st.booleans()):
            return '"""' + draw(st.sampled_from(["", "\n"])) + basic + '"""'
        if "'" not in value and draw(st.booleans()):
            return f"'''{value}'''"
        return '"' + basic.replace("\n", "\\n") + '"'
    if isinstance(value, list):
        gap: str = draw(BREAKS)
        items = [draw(BREAKS) + draw(written(v)) + draw(BREAKS) for v in value]
        tail = draw(st.sampled_from(["", ","])) if items else ""
        return "[" + ",".join(items) + tail + gap + "]"
    if isinstance(value, dict):
        pairs = [
            f"{draw(BLANKS)}{draw(written_key(k))}{draw(BLANKS)}={draw(BLANKS)}{draw(written(v))}"
            for k, v in value.items()
        ]
        return "{" + ",".join(pairs) + draw(BLANKS) + "}"
    return str(value.isoformat()) if hasattr(value, "isoformat") else repr(value)


VALUES = st.recursive(
    SCALARS, lambda v: st.lists(v, max_size=3) | st.dictionaries(KEYS, v, max_size=3), max_leaves=6
)
TABLES: st.SearchStrategy[dict[str, Any]] = st.dictionaries(KEYS, VALUES, max_size=4)


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Write a random document with headers, lists of tables, dotted keys and comments."""
    lines = []

    def pairs(table: dict[str, Any]) -> None:
        for key, value in table.items():
            dotted = draw(written_key(key))
            if isinstance(value, dict) and len(value) == 1 and draw(st.booleans()):
                ((inner, value),) = value.items()
                dotted += f"{draw(BLANKS)}.{draw(BLANKS)}{draw(written_key(inner))}"
            lines.append(f"{draw(BLANKS)}{dotted} = {draw(written(value))}{draw(BREAKS)}")

    root = draw(st.dictionaries(KEYS, st.none(), max_size=3))
    pairs({f"r-{k}": draw(VALUES) for k in root})
    for name in root:
        header = draw(written_key(f"t-{name}"))
        many = draw(st.booleans())
        for _ in range(draw(st.integers(1, 2)) if many else 1):
            lines.append(f"[[{header}]]" if many else f"[ {header} ] # here")
            pairs(draw(TABLES))
            if draw(st.booleans()):
                lines.append(f"[{header}.{draw(written_key('in ner'))}]")
                pairs(draw(TABLES))
    return "\n".join(lines)


def walk(value: Any, path: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    yield path, value
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from walk(inner, (*path, key))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from walk(inner, (*path, i))


def key_at(located: Located, offset: int) -> str:
    """Read the key that is written at an offset, by the parser's own rules."""
    rest = located.text[offset:]
    part = re.match(r""""(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_-]+""", rest)
    assert part is not None
    ((key, _),) = tomllib.loads(f"{part[0]} = 1").items()
    return str(key)


def value_at(located: Located, offset: int, value: object) -> object:
    """Parse what is written at an offset: the shortest text that gives the value."""
    for end in range(offset + 1, len(located.text) + 1):
        try:
            if tomllib.loads(f"v = {located.text[offset:end]}")["v"] == value:
                return value
        except tomllib.TOMLDecodeError:
            continue
    return None


class TestToml:
    @settings(max_examples=60, deadline=None)
    @given(documents())
    def test_every_path_of_a_document_is_found_at_its_key_and_value(self, text: str) -> None:
        """What stands at a place is what the parser reads there, for every path."""
        data = tomllib.loads(text)
        located = locate(text)
        assert located.whole
        assert located.again is None
        for path, value in walk(data):
            if not path:
                continue
            spot = located.spots[path]
            if isinstance(path[-1], str):
                assert key_at(located, spot.key) == path[-1]
            if spot.value != spot.key:
                assert value_at(located, spot.value, value) == value
        assert set(located.spots) == {p for p, _ in walk(data) if p}

    def test_lines_and_columns_count_from_one(self) -> None:
        """The first character is 1:1, and a line ends after its newline."""
        located = locate('a = 1\n\n[b]\nc = ["x",\n  "y"]')
        assert located.line_column(located.spots[("a",)].key) == (1, 1)
        assert located.line_column(located.spots[("a",)].value) == (1, 5)
        assert located.line_column(located.spots[("b", "c", 1)].value) == (5, 3)

    def test_what_is_not_there_has_the_place_of_what_is_around_it(self) -> None:
        """A missing key is placed at its table."""
        located = locate("[b]\nc = 1\n")
        assert located.spot(("b", "d")) == located.spots[("b",)]
        assert located.spot(("x",)) is None

    @settings(max_examples=200, deadline=None)
    @given(st.text(st.sampled_from("[]{}=.,\"'#\\\n ab1"), max_size=60))
    def test_no_text_makes_the_scan_fail(self, text: str) -> None:
        """Any text is scanned up to where it stops being TOML, and nothing is raised."""
        located = locate(text)
        try:
            tomllib.loads(text)
        except (tomllib.TOMLDecodeError, ValueError):
            return
        assert located.whole or located.deep is not None

    def test_nesting_past_the_bound_is_placed(self) -> None:
        """The place is that of the first bracket too many."""
        located = locate("a = " + "[" * 30)
        assert located.deep == 4 + DEPTH - 1


class TestJson:
    @given(st.recursive(SCALARS.filter(lambda v: not hasattr(v, "isoformat")),
                        lambda v: st.lists(v, max_size=3) | st.dictionaries(KEYS, v, max_size=3)),
           st.sampled_from([None, 1]))  # fmt: skip
    @settings(max_examples=150, deadline=None)
    def test_every_path_of_a_text_is_found(self, data: object, indent: int | None) -> None:
        """What stands at a place decodes to the value of the path."""
        text = json.dumps(data, indent=indent)
        located = locate_json(text)
        decoder = json.JSONDecoder()
        for path, value in walk(data):
            spot = located.spots[path]
            assert decoder.raw_decode(text, spot.value)[0] == value
            if path and isinstance(path[-1], str):
                assert decoder.raw_decode(text, spot.key)[0] == path[-1]
        assert located.again is None
        assert len(located.spots) == len(list(walk(data)))


def test_a_path_is_written_as_people_read_it() -> None:
    """Keys with other letters are quoted, places in lists are in brackets."""
    assert key_path(("ceiling", "limit", "git.push", 1)) == 'ceiling.limit."git.push"[1]'
