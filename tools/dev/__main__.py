"""`./dev <verb>`."""

from __future__ import annotations

import argparse
import sys

from tools.dev import docs, lint, setup, verbs
from tools.dev.base import DevError, say
from tools.dev.stages import Stages


def _lint(arguments: argparse.Namespace) -> int:
    setup.apt(["build", "lint"])
    setup.tools_venv()
    stages = Stages()
    stages.stage("clang-format", lambda: lint.format_cxx(fix=arguments.fix))
    stages.stage("python", lambda: lint.python(fix=arguments.fix))
    stages.stage("shellcheck", lint.shell)
    stages.stage("docs", docs.check)
    if not arguments.fix:
        stages.stage("clang-tidy", lint.tidy)
    return stages.run()


def _docs(arguments: argparse.Namespace) -> int:
    del arguments
    docs.write()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="./dev", description="Airfreight, for those who build it."
    )
    verb = parser.add_subparsers(required=True, metavar="VERB")

    def add(name: str, text: str) -> argparse.ArgumentParser:
        return verb.add_parser(name, help=text, description=text)

    add("setup", "Install everything that the other verbs need.").set_defaults(work=verbs.setup)
    add(
        "demo", "Run the example DAG on a real Airflow and show rows, objects and times."
    ).set_defaults(work=verbs.demo)
    test = add("test", "Run the whole test-suite, as CI does.")
    test.add_argument("stages", nargs="*", help="only these stages")
    test.add_argument(
        "--lanes", type=int, choices=(1, 2, 3), default=2, help="how many stages at a time"
    )
    test.set_defaults(work=verbs.test)
    soak = add("soak", "Run the counted tests with longer counts.")
    soak.add_argument("stages", nargs="*", help="only these stages")
    soak.set_defaults(work=verbs.soak)
    bench = add("bench", "Measure against the peers, as ratios in one run.")
    bench.add_argument("suites", nargs="*", help="only these suites")
    bench.set_defaults(work=verbs.bench)
    formatting = add("lint", "Check formatting, lints and types.")
    formatting.add_argument("--fix", action="store_true", help="rewrite what can be")
    formatting.set_defaults(work=_lint)
    add("wheel", "Build the portable wheel into dist/.").set_defaults(work=verbs.wheel)
    add("support", "Measure what comes back of each kind of value; write the table.").set_defaults(
        work=verbs.support
    )
    add("docs", "Write the pages that are made from the code.").set_defaults(work=_docs)
    add("fuzz", "Run each fuzz target for a minute.").set_defaults(work=verbs.fuzz)
    return parser


def main() -> int:
    """Parse the verb and run it."""
    arguments = _parser().parse_args()
    try:
        return int(arguments.work(arguments))
    except DevError as error:
        say(f"error: {error}")
        return 1


if __name__ == "__main__":
    sys.exit(main())
