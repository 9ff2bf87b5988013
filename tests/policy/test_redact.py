"""What of a call's arguments a log keeps: nothing that is named or shaped like a secret."""

import json
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.policy.redact import CUT, NAMES, redact

SECRET = "s3cr3t-Value-9f8e7d6c5b4a"
GITHUB = "ghp_" + "a1B2" * 9
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefghijk"

#: Texts of an argument, and what is kept of them.
TEXTS = [
    ("git commit -m 'mend the token parser'", "git commit -m 'mend the token parser'"),
    ("ls tokens/", "ls tokens/"),
    (f"curl -H 'Authorization: Bearer {SECRET}' u", f"curl -H 'Authorization: Bearer {CUT}' u"),
    (f"git clone https://me:{SECRET}@host/r", f"git clone https://me:{CUT}@host/r"),
    (f"PGPASSWORD={SECRET} psql", f"PGPASSWORD={CUT} psql"),
    (f"deploy --api-key {SECRET} now", f"deploy --api-key {CUT} now"),
    (f"deploy --token='{SECRET} x' now", f"deploy --token={CUT} now"),
    (f'{{"password": "{SECRET}"}}', f'{{"password": {CUT}}}'),
    (f"echo {GITHUB}", f"echo {CUT}"),
    (f"echo {JWT}", f"echo {CUT}"),
    ("AKIAIOSFODNN7EXAMPLE", CUT),
    ("-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\n", f"{CUT}\n"),
    ("-----BEGIN PRIVATE KEY-----\ncut off", CUT),
]


@pytest.mark.parametrize(("text", "kept"), TEXTS, ids=[t[0][:24] for t in TEXTS])
def test_texts(text: str, kept: str) -> None:
    """What looks like a secret is cut, and a text that only speaks of one is kept."""
    assert redact({"command": text}) == {"command": kept}


@pytest.mark.parametrize("name", ["password", "API_KEY", "X-Auth-Token", "clientSecret", "pin"])
def test_names(name: str) -> None:
    """An argument that is named like a secret is cut whole, at any depth."""
    assert redact({name: SECRET}) == {name: CUT}
    assert redact({"a": [{name: {"b": SECRET}}]}) == {"a": [{name: CUT}]}


def test_operators_names() -> None:
    """An operator adds names; those that are always cut stay."""
    assert redact({"iban": "DE02", "token": "t"}, ["IBAN"]) == {"iban": CUT, "token": CUT}


def test_what_is_long_is_told_by_its_digest() -> None:
    """A long text keeps its start, its length and its digest; many items their count."""
    kept = redact({"text": "x" * 100_000, "list": list(range(80)), "number": 10**5_000})
    assert "bits" in kept["number"]
    assert len(kept["text"]) < 300
    assert "100000 characters" in kept["text"]
    assert kept["list"][-1] == "… 30 more"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(st.dictionaries(st.text(max_size=8), JSON, max_size=5))
def test_whatever_comes(args: dict[str, object]) -> None:
    """Any arguments are kept as JSON, and what was cut once stays cut."""
    once = redact(args)
    json.dumps(once)
    assert redact(once) == once


@given(
    st.sampled_from([n.strip("*") for n in NAMES]),
    st.text(string.ascii_letters + string.digits, min_size=8, max_size=40),
    st.sampled_from(["{0}={1}", "--{0} {1}", "--{0}={1} x", "{0}: {1}", "a {0}='{1}' b"]),
)
def test_no_secret_is_kept(name: str, secret: str, form: str) -> None:
    """A value beside a name of a secret is in no record, as an argument of its own or in a text."""
    assert secret not in json.dumps(redact({name: secret}))
    if name not in ("pwd", "pin", "otp", "authorization", "cookie", "privatekey"):
        assert secret not in redact({"cmd": form.format(name, secret)})["cmd"].replace(name, "")
