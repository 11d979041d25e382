"""The names by which commands are recognised: programs, runners, targets, options. Pure data."""

from __future__ import annotations

import re
from typing import Final

from rekindle.core.report.contents import Subject


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Programs that check one thing.
PROGRAMS: Final[dict[Subject, frozenset[str]]] = {
    "tests": _words(
        "pytest py.test unittest tox nox jest vitest mocha ava rspec phpunit ctest behave cucumber nosetests"
    ),
    "build": _words("tsc gcc clang webpack rollup"),
    "lint": _words("ruff mypy pyright flake8 pylint eslint tsc golangci-lint shellcheck prettier rubocop"),
}
#: Programs that do what their first word names; what follows belongs to it.
SUBCOMMANDS: Final = _words("npm pnpm yarn bun deno cargo go dotnet mix swift bazel rails artisan manage.py")
#: Programs that do what each of their words names.
TARGETS: Final = _words(
    "make gmake just task rake ninja poe gradle gradlew mvn mvnw meson hatch composer cmake invoke inv"
)
WORDS: Final[dict[Subject, frozenset[str]]] = {
    "tests": _words("test tests nextest"),
    "build": _words("build compile package all assemble"),
    "lint": _words("lint typecheck clippy vet"),
}
#: Words that mean something to one program only.
OWN_WORDS: Final[dict[tuple[str, str], Subject]] = {
    **{(runner, "check"): "tests" for runner in ("make", "gmake", "gradle", "gradlew")},
    **{(runner, "verify"): "tests" for runner in ("mvn", "mvnw")},
    ("npm", "t"): "tests",
    ("cargo", "check"): "build",
}
SAYS_RUN: Final = _words("run run-script task exec")
#: What stands before the command that is meant.
WRAPPERS: Final = _words(
    "env time nice ionice nohup timeout exec command npx pnpx bunx xvfb-run sudo stdbuf setsid dotenv"
)
RUNS: Final = _words("uv poetry pipenv hatch rye pdm coverage")
EXECS: Final = _words("bundle npm pnpm yarn mise direnv")
WRAPPERS_VALUES: Final = _words("-u -n -k -s --with --python -p --package --extra --group --env-file --signal -m")
INTERPRETERS: Final = _words("node ruby php perl")
PYTHON: Final = re.compile(r"python[\d.]*")
SCRIPT: Final = re.compile(r"(?:run[-_]?)?(?:all[-_]?)?tests?(?:\.(?:sh|py|js|ts|rb|pl|bash))?")
SHELLS: Final = _words("sh bash dash zsh ksh")
#: Commands of a shell that only prepare the ones that follow.
SETTING_UP: Final = _words("set export source . true : umask ulimit")

#: Options that name the folder to work in, or the file that says what to do.
FOLDER_OPTIONS: Final = _words(
    "-C -f --directory --prefix --cwd --dir --rootdir --manifest-path --project --project-dir --chdir --root --path "
    "--file --makefile --test-dir --project-directory --workdir --working-directory --build-file"
)
#: Options without which nothing is known about the word that follows.
VALUED: Final = _words("-n -p -c -o -W -r -s -t -T -k -m -e -R -L -E -run -skip -I -l --target")
#: Long options that take no value.
FLAGS: Final = _words(
    "--silent --quiet --verbose --ci --all --workspace --all-features --all-targets --release --frozen --locked "
    "--offline --no-fail-fast --coverage --runInBand --watch=false --if-present --no-cov --no-header --color --strict "
    "--check --fix --exitfirst --bail --race --parallel --continue --no-daemon --stacktrace --nocapture --build --lib "
    "--bins --doc"
)
#: Options with which nothing is checked, or with which nothing can go wrong.
PRETENDING: Final = _words(
    "--collect-only --co --dry-run --help -h --version --listTests --list-tests --no-run --list --just-print "
    "--fixtures --touch --question --ignore-errors --setup-plan --setup-only --show-only --showConfig --if-present "
    "--passWithNoTests --pass-with-no-tests --exit-zero --fail-never -fn --no-exit-code --suppress-tests-failed"
)
SKIPS_TESTS: Final = re.compile(r"-DskipTests(=true)?|-Dmaven\.test\.skip(=true)?|--skip-tests?|--no-tests?")
#: Options that choose some of what there is.
NARROWING: Final = re.compile(
    r"--?[\w\-.]*(?:filter|grep|only|include|exclude|ignore|select|match|pattern|shard|changed|related|lf|last-failed|"
    r"failed-first|Pattern|skip|tests|group|testsuite|tags?)|-Dtest|-pl"
)
NARROWING_OF: Final[dict[str, frozenset[str]]] = {
    "pytest": _words("-k -m"),
    "py.test": _words("-k -m"),
    "unittest": _words("-k"),
    "tox": _words("-e"),
    "nox": _words("-s -e -k"),
    "jest": _words("-t -o"),
    "vitest": _words("-t"),
    "mocha": _words("-g -f"),
    "rspec": _words("-e -t"),
    "ctest": _words("-R -L -E -LE -I"),
    "go": _words("-run -short"),
    "cargo": _words("-p --package --lib --bin --bins --test --doc --example --examples --bench --benches -E"),
}
#: Names after `test:` or `test-` that mean all of them.
ALL_OF_IT: Final = _words("all ci run full once coverage cov")
#: Places and subcommands with which a test program runs everything.
EVERYTHING: Final = _words(". tests test spec specs __tests__ t src run discover ... ./...")
FILE: Final = re.compile(r"\.(?:py|js|jsx|ts|tsx|mjs|rs|go|rb|php|java|sh|c|cpp)$")
#: Options whose value is a place for results or settings.
OUTPUT: Final = re.compile(r"xml|temp|out|log|report|config|cache|cov|dir|^-[cospn]$", re.IGNORECASE)
