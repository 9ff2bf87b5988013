"""JSON Schemas say what the loader says."""

from pathlib import Path
from typing import Any

import attrs
import pytest

from remit.policy.problems import InputError
from remit.profiles.document import parse_toml
from remit.profiles.schema import SHAPES, schema
from remit.profiles.shapes import CatalogFile, ProfileFile
from remit.profiles.shipped import built_in_sources, shipped_catalog, shipped_catalogs
from remit.profiles.source import Source, read_source
from remit.profiles.structure import structure

jsonschema = pytest.importorskip("jsonschema")
BAD = Path(__file__).parent / "bad"


def valid(kind: str, source: Source) -> bool:
    data = parse_toml(source).data
    return bool(jsonschema.Draft7Validator(schema(kind)).is_valid(data))


@pytest.mark.parametrize("kind", SHAPES)
def test_a_schema_is_one_and_says_what_each_key_is(kind: str) -> None:
    """Every key has a description; unknown keys are refused."""
    jsonschema.Draft7Validator.check_schema(schema(kind))

    def check(table: dict[str, Any]) -> None:
        assert table["additionalProperties"] is False
        for key in table["properties"].values():
            assert key["description"].endswith(".")
            if "properties" in key:
                check(key)

    check(schema(kind))


def test_what_is_shipped_is_valid() -> None:
    """Editors do not underline our own files."""
    assert all(valid("profile", s) for s in built_in_sources())
    assert all(valid("catalog", shipped_catalog(n)) for n in shipped_catalogs())


@pytest.mark.parametrize(
    ("kind", "shape", "name"),
    [
        ("profile", ProfileFile, "missing-key"),
        ("profile", ProfileFile, "unknown-key"),
        ("profile", ProfileFile, "wrong-type"),
        ("profile", ProfileFile, "unknown-value"),
        ("profile", ProfileFile, "bad-example"),
        ("catalog", CatalogFile, "catalog-unknown-key"),
        ("catalog", CatalogFile, "catalog-unknown-value"),
    ],
)
def test_schema_and_loader_refuse_the_same_shapes(kind: str, shape: type, name: str) -> None:
    """What is wrong in shape is wrong to both, and the neighbour is right to both."""
    bad, good = read_source(BAD / f"{name}.toml"), read_source(BAD / f"{name}.good.toml")
    assert valid(kind, good)
    structure(parse_toml(good), shape)
    if name == "bad-example":
        return  # a date is of a type that JSON has not: no schema sees it
    assert not valid(kind, bad)
    with pytest.raises(InputError):
        structure(parse_toml(bad), shape)


def test_every_key_of_a_shape_has_a_line_that_says_it() -> None:
    """The reference is made of these."""
    for shape in SHAPES.values():
        assert all(a.metadata["doc"] for a in attrs.fields(shape))
