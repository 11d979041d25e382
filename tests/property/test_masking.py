"""Secrets are found wherever they stand, what is no secret stays as it was, and no text makes it slow."""

from __future__ import annotations

import base64
import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rekindle.core.masking import Masker
from rekindle.core.secret_patterns import RULES

HEX = "0123456789abcdef"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
BODY = "Zq3" + "aB7xY9kL" * 8

#: (what it is called, the text, the secret in it)
SAMPLES = {
    "anthropic key": f"sk-ant-api03-{BODY}",
    "openai key": f"sk-proj-{BODY}",
    "openrouter key": "sk-or-v1-" + "0a" * 32,
    "github token": "ghp_" + "a1B2" * 9,
    "gitlab token": "glpat-" + "a1B2c" * 4,
    "aws key": "AKIA" + "IOSFODNN7ABCDEFG",
    "google key": "AIza" + "Sy1_-" * 7,
    "slack token": "xoxb-" + "1234567890-abcdef",
    "stripe key": "sk_live_" + "4eC39HqLyjWDarjt",
    "npm token": "npm_" + "a1B2" * 9,
    "huggingface token": "hf_" + "a1B2" * 9,
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N",
    "private key": "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNz\nKAAAA==\n-----END OPENSSH PRIVATE KEY-----",
}
IN_CONTEXT = {
    "password": ('password = "{}"', "hunter2hunter2"),
    "token": ("token: {}", "a1b2c3d4e5f6"),
    "PASSWORD": ("export DB_PASSWORD={}", "correcthorse"),
    "url password": ("postgres://admin:{}@db.example.org/x", "s3cr3tpw"),
    "authorization": ("Authorization: Bearer {}", "abcdef0123456789"),
}
VALUE = 'p4ss "word"\\with/all & é\n\U0001f511!'
ENVIRONMENT = {
    "SERVICE_TOKEN": VALUE,
    "OTHER_API_KEY": "plainvalue77",
    "HOME": "/home/someone",
    "KEY_COUNT": "12345678",
}


@pytest.mark.parametrize(("label", "secret"), SAMPLES.items())
@pytest.mark.parametrize("around", ["{}", "key is {} ok", "x\n{}\ny", "({})", "\u00e9{}\u00e9"])
def test_a_key_of_a_well_known_kind_is_masked(label: str, secret: str, around: str) -> None:
    text = around.format(secret)
    assert Masker().text(text) == around.format(f"[masked:{label}]")
    for ascii_only in (True, False):
        as_json = json.dumps({"output": text}, ensure_ascii=ascii_only)
        assert json.loads(Masker().text(as_json)) == {"output": around.format(f"[masked:{label}]")}


@pytest.mark.parametrize(("label", "sample"), IN_CONTEXT.items())
def test_what_is_assigned_to_a_telling_name_is_masked(label: str, sample: tuple[str, str]) -> None:
    pattern, secret = sample
    assert Masker().text(pattern.format(secret)) == pattern.format(f"[masked:{label}]")
    nested = json.dumps([json.dumps([f"first\n{pattern.format(secret)}\nlast"])])
    assert secret not in Masker().text(nested)
    json.loads(json.loads(Masker().text(nested))[0])


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_a_value_of_the_environment_is_masked_however_json_writes_it(depth: int, ascii_only: bool) -> None:
    text = f"it is {VALUE}; and {ENVIRONMENT['OTHER_API_KEY']}."
    for _ in range(depth):
        text = json.dumps(text, ensure_ascii=ascii_only)
    text = Masker(ENVIRONMENT).text(text)
    for _ in range(depth):
        text = json.loads(text)
    assert text == "it is [masked:SERVICE_TOKEN]; and [masked:OTHER_API_KEY]."


@pytest.mark.parametrize(
    "text",
    [
        "commit 7c850fe4b1a2c3d4e5f60718293a4b5c6d7e8f90",
        "session 3f9a1c22d0, token: f47ac10b-58cc-4372-a567-0e02b2c3d479",
        '"sessionId": "f47ac10b-58cc-4372-a567-0e02b2c3d479", "total_tokens": 12345678',
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "data:image/png;base64," + base64.b64encode(bytes(range(256)) * 20).decode(),
        "max_tokens: 4096, tokens=100000, token_count=1234567890",
        "def login(password: str, token: Optional[str] = None) -> None:",
        'api_key = os.environ["ANTHROPIC_API_KEY"]',
        "password = getpass.getpass()",
        "the password is required; set API_KEY=${API_KEY} or SECRET_FILE=/run/secrets/x",
        "https://example.org:8080/a/b?c=d#e and git@github.com:me/repo.git",
        "sk-learn-is-not-a-key and class sk-fading-circle-with-a-long-name",
        'the file "/home/someone/.ssh/id_ed25519" has 12345678 bytes',
        "a bearer of bad news with a hyphenated-multi-word-expression",
        "primary_key=user_identifier, PRIMARY_KEY=user_identifier",
    ],
)
def test_what_is_no_secret_stays_as_it_was(text: str) -> None:
    masker = Masker({**ENVIRONMENT, "EMPTY_TOKEN": "", "SHORT_KEY": "abc1234"})
    assert masker.text(text) == text
    assert masker.data(text.encode()) == text.encode()
    assert not masker.counts


def test_a_value_behind_half_an_escape_leaves_no_half_escape() -> None:
    """In JSON the text is a line's end and something else; in a shell script it may be the value."""
    masker = Masker({"SOME_TOKEN": "nXYZabcd1"})
    assert json.loads(masker.text('"a\\nXYZabcd1"')) == "a[masked:SOME_TOKEN]"
    assert json.loads(masker.text('"a\\\\nXYZabcd1"')) == "a\\[masked:SOME_TOKEN]"


PIECES = st.sampled_from(
    [
        *SAMPLES.values(),
        *(pattern.format(secret) for pattern, secret in IN_CONTEXT.values()),
        *(rule.needle for rule in RULES),
        VALUE,
        ENVIRONMENT["OTHER_API_KEY"],
        *(
            "\\",
            "\\\\",
            '\\"',
            '"',
            "'",
            "\n",
            "\\n",
            "\\u00e9",
            "=",
            ": ",
            ":",
            "@",
            "://",
            " ",
            ".",
            "-",
            "_",
            "[",
            "]",
        ),
        *("password=", "token: ", '"secret": "', "KEY=", "a1b2c3d4e5", "[masked:", "[masked:x]", "eyJ", "İ", "é"),
    ]
)
TEXTS = st.lists(PIECES | st.text(max_size=12) | st.text(LETTERS, min_size=6, max_size=40), max_size=24).map("".join)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=8,
)


@given(TEXTS)
def test_masking_twice_is_masking_once(text: str) -> None:
    masker = Masker(ENVIRONMENT)
    once = masker.text(text)
    assert Masker(ENVIRONMENT).text(once) == once
    assert VALUE not in once


@given(VALUES, st.booleans(), st.sampled_from([None, 1]))
def test_json_stays_json(value: Any, ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    json.loads(Masker(ENVIRONMENT).text(text))
    assert json.loads(Masker(ENVIRONMENT).text(json.dumps([text])))[0] is not None


@given(VALUES)
def test_lines_of_json_are_masked_by_their_texts_and_are_the_same_bytes_without_secrets(value: Any) -> None:
    line = json.dumps(value).encode()
    masked = Masker(ENVIRONMENT).lines(line)
    assert json.loads(masked) == Masker(ENVIRONMENT).value(value)
    assert Masker(ENVIRONMENT).lines(masked) == masked
    if json.loads(masked) == value:
        assert masked == line


@given(st.binary(max_size=200))
def test_any_bytes_without_secrets_come_back(data: bytes) -> None:
    assert Masker(ENVIRONMENT).data(data) == data
    assert Masker(ENVIRONMENT).lines(data).count(b"\n") == data.count(b"\n")


def test_a_member_with_a_telling_name_is_masked() -> None:
    value = {"password": "swordfish", "client_secret": "abcdefgh", "n": [{"apiKey": "abc def", "token": "tok-1"}]}
    masked = Masker().value(value)
    assert masked["password"] == "[masked:password]"
    assert masked["client_secret"] == "[masked:client_secret]"
    assert masked["n"] == [{"apiKey": "[masked:apiKey]", "token": "tok-1"}]
    assert Masker().value(masked) is masked


@given(st.lists(PIECES, min_size=1, max_size=4).map("".join), st.text(LETTERS + "\"'\\/=:-_ .", max_size=3))
def test_any_repetition_takes_time_in_proportion_to_its_length(piece: str, glue: str) -> None:
    """Ten times the text may take far more than ten times as long only if something is quadratic."""
    masker = Masker(ENVIRONMENT)
    unit = piece + glue

    def seconds(size: int) -> float:
        text = unit * (size // len(unit) + 1)
        begun = time.process_time()
        masker.text(text)
        return time.process_time() - begun

    short = seconds(3_000)
    assert seconds(30_000) < 60 * max(short, 0.002)


LONG = ["\\", "a", "-", "=", ":", "eyJ", "token=", "token=a1", "-----BEGIN ", "://a", "[", "KEY", *SAMPLES.values()]


@pytest.mark.parametrize("piece", LONG)
@pytest.mark.parametrize("end", ["", "(", '"', "@", "\\", "["])
def test_a_long_run_of_one_piece_takes_seconds_at_most(piece: str, end: str) -> None:
    text = piece * (300_000 // len(piece)) + end
    begun = time.process_time()
    Masker(ENVIRONMENT).text(text)
    assert time.process_time() - begun < 10
