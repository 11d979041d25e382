r"""What secrets look like, one pattern per kind. Every pattern runs in linear time, and none cuts a JSON escape in two.

A pattern is tried only where its needle occurs, so that text without secrets costs a few word searches. Rules for all
patterns: a body is a bounded or possessive repetition of one class of characters, in which no other match can begin;
no body contains a quote or half an escape; nothing begins right after a backslash.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from re import Pattern


@dataclass(frozen=True)
class SecretRule:
    """The pattern begins with the needle; its group `secret` is replaced, its group `name` (if any) is the label.

    It is compiled when its needle is found for the first time: every process that masks starts sooner without that.
    """

    label: str
    needle: str
    text: str
    ignores_case: bool = False

    @cached_property
    def pattern(self) -> Pattern[str]:
        """What is looked for where the needle is."""
        return re.compile(self.text, re.IGNORECASE if self.ignores_case else re.NOFLAG)


#: Not in the middle of a word; a word may begin after a JSON escape (`\n`, `\u00e9`).
_BEGIN = r"(?<!\\)(?:(?<![A-Za-z0-9_])|(?<=\\[nrtbf])|(?<=\\u[0-9a-fA-F]{4}))"
#: After a mark too: otherwise masking one key could uncover the next, one at a time.
_FIXED_END = r"(?![A-Za-z0-9_-]|\[masked:)"


def _key(label: str, body: str, *needles: str) -> list[SecretRule]:
    """A key with a distinctive beginning. `body` is what follows the needle."""
    end = "" if body.endswith("+") else _FIXED_END
    return [SecretRule(label, needle, f"{_BEGIN}(?P<secret>{re.escape(needle)}{body}){end}") for needle in needles]


def _rules(label: str, pattern: str, *needles: str, ignores_case: bool = False) -> list[SecretRule]:
    return [SecretRule(label, needle, pattern, ignores_case) for needle in needles]


_KEYS = [
    *_key("anthropic key", r"[A-Za-z0-9_-]{16,}+", "sk-ant-"),
    *_key("openrouter key", r"[A-Za-z0-9_-]{16,}+", "sk-or-"),
    *_key(
        "openai key",
        r"(?=[A-Za-z_-]{0,60}[0-9])(?=[a-z0-9_-]{0,60}[A-Z])[A-Za-z0-9_-]{20,}+",
        "sk-",
    ),
    *_key("github token", r"[A-Za-z0-9]{30,}+", "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    *_key("github token", r"[A-Za-z0-9_]{22,}+", "github_pat_"),
    *_key("gitlab token", r"[A-Za-z0-9_.-]{20,}+", "glpat-"),
    *_key("aws key", r"[A-Z0-9]{16}", "AKIA", "ASIA"),
    *_key("google key", r"[A-Za-z0-9_-]{35}", "AIza"),
    *_key("google token", r"[A-Za-z0-9_-]{20,}+", "ya29."),
    *_key("google secret", r"[A-Za-z0-9_-]{20,}+", "GOCSPX-"),
    *_key("slack token", r"[abeoprs]-[A-Za-z0-9-]{10,}+", "xox"),
    *_key("slack token", r"[A-Za-z0-9-]{10,}+", "xapp-"),
    *_key("slack webhook", r"[A-Za-z0-9/_]{20,}+", "hooks.slack.com/services/"),
    *_key("stripe key", r"[A-Za-z0-9]{16,}+", "sk_live_", "rk_live_", "pk_live_", "sk_test_", "rk_test_", "pk_test_"),
    *_key("webhook secret", r"[A-Za-z0-9/=]{20,}+", "whsec_"),
    *_key("npm token", r"[A-Za-z0-9]{36}", "npm_"),
    *_key("pypi token", r"[A-Za-z0-9_-]{50,}+", "pypi-"),
    *_key("huggingface token", r"[A-Za-z0-9]{30,}+", "hf_"),
    *_key("groq key", r"[A-Za-z0-9]{40,}+", "gsk_"),
    *_key("xai key", r"[A-Za-z0-9]{40,}+", "xai-"),
    *_key("perplexity key", r"[A-Za-z0-9]{40,}+", "pplx-"),
    *_key("replicate token", r"[A-Za-z0-9]{30,}+", "r8_"),
    *_key("sendgrid key", r"[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,}+", "SG."),
    *_key("digitalocean token", r"[a-f0-9]{64}", "dop_v1_", "doo_v1_", "dor_v1_"),
    *_key("databricks token", r"[a-f0-9]{32}", "dapi"),
    *_key("shopify token", r"[a-fA-F0-9]{32}", "shpat_", "shpss_"),
    *_key("linear key", r"[A-Za-z0-9]{32,}+", "lin_api_"),
    *_key("vault token", r"[A-Za-z0-9_-]{20,}+", "hvs.", "hvb."),
    *_key("age key", r"[0-9A-Z]{58}", "AGE-SECRET-KEY-1"),
    *_key("jwt", r"[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+", "eyJ"),
    *_rules("telegram token", rf"(?<=[0-9]{{8}}):(?P<secret>AA[A-Za-z0-9_-]{{33}}){_FIXED_END}", ":AA"),
]

_PRIVATE = _rules(
    "private key",
    r"(?P<secret>-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:[^-\"\\]|-(?!----)|\\++[^-\"\\])*+"
    r"(?:-----END (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----)?)",
    "-----BEGIN ",
)
_AUTHORIZATION = _rules(
    "authorization",
    r"(?<!\\)(?:bearer|authorization(?:\\*[\"'])?[:=][ \t]{0,4}(?:\\*[\"'])?(?:basic|token|bearer))[ ]{1,4}"
    r"(?P<secret>(?=[A-Za-z._~+/=-]{0,200}[0-9])[A-Za-z0-9._~+/=-]{12,}+)",
    "bearer ",
    "authorization",
    ignores_case=True,
)
_URLS = [
    *_rules("url password", r"://[^\s/@:\"'\\<>\[\]]{0,120}+:(?P<secret>[^\s/@\"'\\<>\[\]]{3,250}+)@", "://"),
    *_rules("url token", r"://(?P<secret>(?=[^\s/@:]{0,200}[0-9])[^\s/@:\"'\\<>\[\]]{20,250}+)@", "://"),
]

#: What is not a secret although it follows `password=`: code, a placeholder, an id, what is already masked.
_NOT = (
    r"(?!\[masked:|[$<{(\[%*&#@]|\.\.\.|[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-|(?i:none|null|nil|true|false|undefined|string|str|"
    r"bool|boolean|int|number|any|bytes|optional|required|redacted|changeme|self|this|os|process|args|config|settings|env|"
    r"getpass)(?![a-zA-Z0-9]))"
)
_NAME = (
    r"(?P<name>passwords?|passwd|passphrase|pwd|secrets?(?:[_-]?access)?(?:[_-]?keys?)?|api[_-]?(?:keys?|tokens?)"
    r"|credentials?|tokens?|(?:(?<=private[_-])|(?<=private)|(?<=access[_-])|(?<=access)|(?<=account[_-])|(?<=account)"
    r"|(?<=encryption[_-])|(?<=signing[_-])|(?<=master[_-]))keys?)"
)
_NAMED = ("passw", "passphrase", "pwd", "secret", "api", "token", "credential", "key")
_ASSIGNMENTS = [
    #: `"password": "…"`, `token = '…'`, also in JSON inside JSON. Both quotes are required.
    *_rules(
        "secret",
        rf"{_NAME}(?:\\*[\"'])?[ \t]{{0,8}}(?:=>|:=|=|:)[ \t]{{0,8}}\\*[\"']"
        rf"(?P<secret>{_NOT}(?:[^\"'\\\s]|\\++[^\"'\\\s]){{8,}}+)(?=\\*[\"'])",
        *_NAMED,
        ignores_case=True,
    ),
    #: `password=…`, `token: …` without quotes: only what has a digit in it, because the rest is mostly code or prose.
    *_rules(
        "secret",
        rf"{_NAME}[ \t]{{0,4}}[:=][ \t]{{0,4}}"
        rf"(?P<secret>{_NOT}(?=[^\s\"'\\:=]{{0,60}}[0-9])(?![0-9.,]{{1,40}}(?![A-Za-z0-9_+/~!-]))"
        r"[A-Za-z0-9_+/~!@#$%^*.-]{8,}+={0,2}+)(?![(\[])",
        *_NAMED,
        ignores_case=True,
    ),
    #: A line of a shell script or an .env file: the name alone is enough.
    *_rules(
        "secret",
        r"(?P<name>(?:TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL)[A-Z0-9_]{0,40}+)=(?:\\*[\"'])?"
        rf"(?P<secret>(?!/|~/|https?:|[0-9]{{1,9}}(?![A-Za-z0-9_-])){_NOT}[^\s\"'\\\[\]`;,=]{{6,}}+)",
        "TOKEN",
        "SECRET",
        "PASSW",
        "PASSPHRASE",
        "CREDENTIAL",
    ),
    *_rules(
        "secret",
        r"(?P<name>KEY[A-Z0-9_]{0,40}+)=(?:\\*[\"'])?"
        rf"(?P<secret>(?!/|~/|https?:){_NOT}(?=[^\s\"'\\]{{0,60}}[0-9])[^\s\"'\\\[\]`;,=]{{8,}}+)",
        "KEY",
    ),
]

#: Words that other programs' files put before a secret.
_FILES = [
    *_rules(
        "netrc password",
        r"machine(?:[ \t\r\n]|\\+[nrt]){1,8}[^\s\"'\\;,]{1,200}+(?:[ \t\r\n]|\\+[nrt]){1,8}"
        r"(?:login(?:[ \t\r\n]|\\+[nrt]){1,8}[^\s\"'\\;,]{1,200}+(?:[ \t\r\n]|\\+[nrt]){1,8})?"
        r"password(?:[ \t\r\n]|\\+[nrt]){1,8}(?P<secret>(?!\[masked:)[^\s\"'\\]{3,200}+)",
        "machine",
    ),
    *_rules(
        "client key",
        r"client-key-data(?:\\*[\"'])?[ \t]{0,4}:[ \t]{0,4}(?:\\*[\"'])?(?P<secret>[A-Za-z0-9+/]{16,}+={0,2}+)",
        "client-key-data",
    ),
    *_rules(
        "command line password",
        r"-u[ =]?(?:\\*[\"'])?[^\s:\"'\\]{1,80}+:(?P<secret>(?=[^\s\"'\\]{0,80}[0-9])(?=[^\s\"'\\]{0,80}[A-Za-z])"
        r"[^\s\"'\\/\[\]]{8,200}+)",
        "-u",
    ),
    *_rules(
        "cookie",
        r"cookie(?:\\*[\"'])?[ \t]{0,4}:[ \t]{0,4}(?:\\*[\"'])?[A-Za-z0-9_.-]{1,80}+="
        r"(?P<secret>(?=[^\s;,\"'\\]{0,200}[0-9])[A-Za-z0-9_.~%+/=:-]{8,}+)",
        "cookie",
        ignores_case=True,
    ),
]

RULES: tuple[SecretRule, ...] = (*_PRIVATE, *_KEYS, *_AUTHORIZATION, *_URLS, *_FILES, *_ASSIGNMENTS)
#: An AWS secret has no distinctive beginning: 40 characters without a word in them. Paths, hashes and names have
#: words, or only one case.
BARE_SECRET = re.compile(
    r"(?:(?<![A-Za-z0-9/+=_.\\-])|(?<=\\[nrt]))(?=[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=_.-]))"
    r"(?=[^A-Z]{0,39}[A-Z])(?=[^0-9]{0,39}[0-9])(?=[^a-z]{0,39}[a-z])(?![0-9a-fA-F]{40})"
    r"(?![A-Za-z0-9/+]{0,33}[a-z]{7})(?P<secret>[A-Za-z0-9/+]{40})"
)

_SECRET_MEMBER = re.compile(
    r"password|passwd|passphrase|secret|apikey|accesstoken|authtoken|refreshtoken|bearertoken|privatekey|accesskey"
    r"|secretkey|authorization|credential|clientkeydata|cookie"
)


def is_secret_member(name: str) -> bool:
    """Whether the member of a JSON object with this name is a secret, if it is a text."""
    plain = name.lower().replace("_", "").replace("-", "")
    return any(match.end() == len(plain) for match in _SECRET_MEMBER.finditer(plain))
