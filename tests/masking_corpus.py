"""Made secrets and harmless look-alikes, with the texts that they stand in. None of them was ever anybody's.

`python -m tests.masking_corpus` prints which secrets are missed and which look-alikes are masked.
"""

from __future__ import annotations

import base64
import random
import string
from dataclasses import dataclass

from rekindle.core.masking import Masker

_LETTERS = string.ascii_letters + string.digits


@dataclass(frozen=True)
class Sample:
    """A text, and the secret in it; None: nothing in it is one. `environment` is that of the session."""

    kind: str
    text: str
    secret: str | None
    environment: tuple[tuple[str, str], ...] = ()

    @property
    def is_right(self) -> bool:
        masked = Masker(dict(self.environment)).text(self.text)
        return masked == self.text if self.secret is None else self.secret not in masked


def _made(seed: int, length: int, letters: str = _LETTERS) -> str:
    found = random.Random(seed)
    while True:
        text = "".join(found.choice(letters) for _ in range(length))
        if any(one.isdigit() for one in text) or letters.isalpha() or not any(one.isdigit() for one in letters):
            return text


def _variables() -> list[Sample]:
    """Values of the environment, however they are written."""
    pem = "-----BEGIN PRIVATE KEY-----\n" + "\n".join(_made(n, 64) for n in range(3)) + "\n-----END PRIVATE KEY-----"
    line = pem.splitlines()[2]
    long, short = _made(1, 24), "hunter2"
    address = f"postgres://app:{_made(2, 14)}@db.example.invalid/x"
    password = address.split(":")[2].partition("@")[0]
    encoded = base64.b64encode(f"user:{long}".encode()).decode()
    plain = base64.urlsafe_b64encode(long.encode()).decode()
    shifted = base64.b64encode(f"me:{long};".encode()).decode()
    values = [
        ("PAT", "GITEA_PAT", long, f"remote says {long}", long),
        ("AUTH", "REGISTRY_AUTH", long, f"auth {long}.", long),
        ("COOKIE", "SESSION_COOKIE", long, f"sent {long};", long),
        ("PASS", "SMTP_PASS", long, f"logged in with {long}", long),
        ("KEY", "SERVICE_KEY", long, f"key={long}", long),
        ("password in an address", "DATABASE_URL", address, f"the password {password} was refused", password),
        ("the whole address", "DATABASE_URL", address, f"connect to {address}", password),
        ("short", "ADMIN_PASSWORD", short, f"typed {short} twice", short),
        ("short with quotes", "ADMIN_PASSWORD", short, f'"{short}"', short),
        ("digits", "BANK_PIN", "48213377", "entered 48213377.", "48213377"),
        ("digits in JSON", "BANK_PIN", "48213377", '{"pin": 48213377, "n": 1}', "48213377"),
        ("a number as a token", "LOGIN_TOKEN", "7349918265", "code 7349918265 sent", "7349918265"),
        ("a line of a long one", "DEPLOY_KEY", pem, f"found {line} in a file", line),
        ("a long one", "DEPLOY_KEY", pem, pem.replace("\n", "\\n"), line),
        ("base64", "API_TOKEN", long, f"Authorization: Basic {encoded}", encoded[8:28]),
        ("base64 elsewhere", "API_TOKEN", long, f"x {shifted} y", shifted[8:24]),
        ("base64 alone", "API_TOKEN", long, f"[{base64.urlsafe_b64encode(long.encode()).decode()}]", plain[2:28]),
    ]
    return [Sample(f"variable: {kind}", text, secret, ((name, value),)) for kind, name, value, text, secret in values]


def _files() -> list[Sample]:
    """What lies in files of other programs."""
    made = [_made(n, 20) for n in range(20, 40)]
    key = base64.b64encode(b"-----BEGIN RSA PRIVATE KEY-----\n" + made[0].encode() * 8).decode()
    aws = [_made(n, 40, _LETTERS + "/+") for n in range(40, 52)]
    texts = [
        ("netrc", f"machine git.example.invalid login me password {made[1]}", made[1]),
        ("netrc on lines", f"machine h.example.invalid\n  login me\n  password {made[2]}\n", made[2]),
        ("netrc without digits", "machine h.example.invalid login me password swordfish", "swordfish"),
        ("kubeconfig", f"    client-key-data: {key}", key[:60]),
        ("kubeconfig in JSON", f'{{"client-key-data": "{key}"}}', key[:60]),
        ("pgpass", f"db.example.invalid:5432:app:me:{made[3]}", made[3]),
        ("docker auth", f'{{"auths": {{"r": {{"auth": "{base64.b64encode(made[4].encode()).decode()}"}}}}}}', made[4]),
        ("npmrc", f"//registry.example.invalid/:_authToken={made[5]}", made[5]),
        ("pypirc", f"[pypi]\nusername = __token__\npassword = {made[6]}", made[6]),
        ("dotenv", f"STRIPE_SECRET={made[7]}", made[7]),
        ("dotenv without digits", "DB_PASSWORD=correcthorse", "correcthorse"),
        ("yaml", f"  password: '{made[8]}'", made[8]),
        ("a header", f"Cookie: sessionid={made[9]}; theme=dark", made[9]),
        ("another header", f"set-cookie: sid={made[10]}; HttpOnly", made[10]),
        ("bearer", f"Authorization: Bearer {made[11]}", made[11]),
        ("an address", f"https://me:{made[12]}@example.invalid/x.git", made[12]),
        ("an address with a token", f"https://{_made(60, 30)}@example.invalid/x.git", _made(60, 30)),
        ("json member", f'{{"client_secret": "{made[13]}"}}', made[13]),
        ("command line", f"curl -u me:{made[14]} https://example.invalid", made[14]),
        ("command line password", f"mysql --password={made[15]} -u me", made[15]),
        ("a bare word", f"{made[16]}", made[16]),
        *((f"bare AWS secret {n}", f"try {one} now", one) for n, one in enumerate(aws)),
        *((f"AWS secret on a line {n}", f"id\n{one}\n", one) for n, one in enumerate(aws[:3])),
    ]
    return [Sample(f"file: {kind}", text, secret) for kind, text, secret in texts]


def _services() -> list[Sample]:
    """Keys that begin like no other word, in three surroundings."""
    upper = string.ascii_uppercase + string.digits
    low = "0123456789abcdef"
    keys = {
        "anthropic": "sk-ant-api03-" + _made(70, 40),
        "openai": "sk-proj-" + _made(71, 44),
        "openrouter": "sk-or-v1-" + _made(72, 40),
        "github": "ghp_" + _made(73, 36),
        "github fine": "github_pat_" + _made(74, 40),
        "gitlab": "glpat-" + _made(75, 20),
        "aws id": "AKIA" + _made(76, 16, upper),
        "google": "AIza" + _made(77, 35),
        "slack": "xoxb-" + _made(78, 30),
        "stripe": "sk_live_" + _made(79, 24),
        "npm": "npm_" + _made(80, 36),
        "pypi": "pypi-" + _made(81, 60),
        "huggingface": "hf_" + _made(82, 34),
        "digitalocean": "dop_v1_" + _made(83, 64, low),
        "sendgrid": f"SG.{_made(84, 22)}.{_made(85, 43)}",
        "jwt": f"eyJ{_made(86, 20)}.{_made(87, 40)}.{_made(88, 43)}",
        "vault": "hvs." + _made(89, 24),
        "age": "AGE-SECRET-KEY-1" + _made(90, 58, upper),
    }
    around = ("it is {}", '{{"value":"{}"}}', "a\\n{}\\nb")
    return [Sample(f"service: {name}", text.format(key), key) for name, key in keys.items() for text in around]


_HARMLESS = [
    "commit 7c850fe4b1a2c3d4e5f60718293a4b5c6d7e8f90",
    "7C850FE4B1A2C3D4E5F60718293A4B5C6D7E8F90",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "sha512-Qm9mYXJ1c0hhc2hPZkFQYWNrYWdlVGhhdElzTm90QVNlY3JldEF0QWxs is an integrity",
    "session f47ac10b-58cc-4372-a567-0e02b2c3d479",
    "src/rekindle/adapters/sql_store/Migr1.py",
    "src/Components/Checkout2/PaymentForm.tsx",
    "/usr/lib/python3.11/site-packages/Foo9Bar/Baz",
    "node_modules/@Scope/Package1/dist/Index.d.ts and more",
    "com/example/Project1/ServiceFactoryImpl9",
    "max_tokens: 4096, total_tokens=100000",
    "MAX_TOKENS=32000 and TOKEN_LIMIT=200000",
    "def login(password: str, token: str | None = None) -> None: ...",
    'api_key = os.environ["ANTHROPIC_API_KEY"]',
    "password = getpass.getpass()",
    "set API_KEY=${API_KEY} or SECRET_FILE=/run/secrets/x",
    "https://example.org:8080/a/b?c=d#e and git@github.com:me/repo.git",
    "sk-learn-is-not-a-key, class sk-fading-circle-with-a-long-name",
    "a bearer of bad news with a hyphenated-multi-word-expression",
    "primary_key=user_identifier, foreign_key=order_id",
    "the cookie jar: chocolate=yes please",
    "cookie: a small text file; Cookies are sent with each request",
    "Set-Cookie: theme=darkmode; Path=/",
    "the machine was slow, login failed, password reset was sent",
    "machine learning; login page; password field",
    "certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUM=",
    "client-certificate-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUM=",
    "data:image/png;base64," + base64.b64encode(bytes(range(256)) * 4).decode(),
    "token: f47ac10b-58cc-4372-a567-0e02b2c3d479",
    "press any key: 12345678 times",
    "key = value, keys: 3, keyboard=qwerty",
    "TOKENIZERS_PARALLELISM=false",
    "SSH_AUTH_SOCK=/tmp/ssh-x/agent.1",
    "AUTHOR=somebody PATH=/usr/bin:/bin COMPASS=north",
    "passwd: files systemd",
    "the PIN of pin 4 is a PIN diode",
    "in 2026 there were 48213378 rows and 4821337 columns",
    "HunterHunter2 and hunter22",
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
    "0123456789abcdefghijABCDEFGHIJ0123456789ab is an alphabet",
    "refs/heads/feature/JIRA-1234-add-login-form",
    "Content-Type: multipart/form-data; boundary=----WebKitFormBoundary7MA4YWxkTrZu0gW",
    "integrity=sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=",
    "v1.2.3-rc.4+build.5678, 192.168.10.20:5432, 2026-11-16T10:55:36Z",
    "the secret of good tea, a token of thanks, the key to success",
    "test_password_is_masked, TestTokenRefresh, handleApiKeyChange",
    'assert response.json()["token_type"] == "bearer"',
    "Bearer authentication is required",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ9cUs7XnKqv1Wb0Q2yqJ4b7cK0f8zQnVdU6mYl3hTgk me@host",
    "uuid 6ba7b810-9dad-11d1-80b4-00c04fd430c8, oid 1.3.6.1.4.1.311.21.20",
]
_SURROUNDINGS = (
    ("ADMIN_PASSWORD", "hunter2"),
    ("BANK_PIN", "48213377"),
    ("MAX_TOKENS", "4096"),
    ("TOKEN_LIMIT", "100000"),
    ("USE_AUTH", "true"),
    ("SSH_AUTH_SOCK", "/tmp/ssh-x/agent.1"),
    ("API_VERSION_KEY", "2026.11"),
    ("SHORT_KEY", "abc"),
)

SECRETS: list[Sample] = [*_variables(), *_files(), *_services()]
HARMLESS: list[Sample] = [
    Sample(f"harmless: {text[:40]}", text, None, environment)
    for text in _HARMLESS
    for environment in ((), _SURROUNDINGS)
]


def missed() -> list[Sample]:
    """Secrets that stay readable."""
    return [one for one in SECRETS if not one.is_right]


def false_alarms() -> list[Sample]:
    """Look-alikes that are masked."""
    return [one for one in HARMLESS if not one.is_right]


def figures() -> str:
    """What docs/search.md says of the corpus."""
    found = len(SECRETS) - len(missed())
    return (
        f"{found} of {len(SECRETS)} made secrets are masked, and {len(false_alarms())} of {len(HARMLESS)} look-alikes"
    )


if __name__ == "__main__":
    print(figures())
    for sample in (*missed(), *false_alarms()):
        print(f"  {sample.kind}: {sample.text[:120]!r} -> {Masker(dict(sample.environment)).text(sample.text)[:120]!r}")
