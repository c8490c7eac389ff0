"""The verbs of `./dev`, each a function from parsed arguments to an exit status."""

from __future__ import annotations

import argparse
import os
import subprocess
from functools import partial
from typing import TYPE_CHECKING

from tests.servers.azurite import Azurite
from tests.servers.fake_gcs import FakeGCS
from tests.servers.minio import MinIO
from tests.servers.versitygw import VersityGW

from tools.dev import build, docs, leaks, lint, matrix
from tools.dev import setup as installing
from tools.dev.base import BIN, BUILD, ROOT, TOOLS_VENV, DevError, output, run, say
from tools.dev.stages import Stages

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.servers.s3_server import S3Server

# The releases that the whole suite runs on, and those that a push–pull–map DAG runs on.
AIRFLOW_FULL = ("3.3.2", "2.11.2")
AIRFLOW_SHORT = ("2.9.3", "2.10.5", "3.0.6", "3.4.0b2")

# What stands before a command that wants a server of every store beside S3; one line a store.
_BESIDE = (
    *("python3", "-m", "tests.servers.redis", "--"),  # Two of them, one over TLS.
    *("python3", "-m", FakeGCS.__module__, "--bucket", "conformance", "--"),
    *("python3", "-m", Azurite.__module__, "--bucket", "conformance", "--"),
)


def setup(arguments: argparse.Namespace) -> int:
    """Install what the other verbs need."""
    del arguments
    installing.everything()
    return 0


def wheel(arguments: argparse.Namespace) -> int:
    """Build the portable wheel."""
    del arguments
    installing.apt(["build"])
    installing.tools_venv()
    say(f"wheel: {build.wheel().relative_to(ROOT)}")
    return 0


def demo(arguments: argparse.Namespace) -> int:
    """Run examples/ on a real Airflow."""
    del arguments
    installing.apt(["build", "demo"])
    installing.tools_venv()
    venv = installing.airflow_venv("3.3.2", build.wheel())
    run([venv / "bin" / "python", "-m", "examples.demo"])
    return 0


def bench(arguments: argparse.Namespace) -> int:
    """Measure against the peers."""
    installing.apt(["build", "bench", "demo"])  # (PostgreSQL for the Airflow of `tasks`.)
    installing.tools_venv()
    installing.servers()
    wheel = build.wheel()
    venv = installing.bench_venv(wheel)
    if not arguments.suites or {*arguments.suites} - {"transfer", "stores"}:
        # The others measure XCom backends.
        venv = installing.airflow_venv("3.3.2", wheel)
    run([venv / "bin" / "python", "-m", "bench", *arguments.suites], env=_server_env())
    return 0


def support(arguments: argparse.Namespace) -> int:
    """Measure the support table."""
    del arguments
    installing.apt(["build"])
    installing.tools_venv()
    matrix.measure()
    return 0


def fuzz(arguments: argparse.Namespace) -> int:
    """Run each fuzz target for a minute."""
    del arguments
    installing.apt(["build", "test"])
    _fuzz(60)
    return 0


def soak(arguments: argparse.Namespace) -> int:
    """The counted tests with longer counts, longer fuzzing, and the static analyzer."""
    installing.everything()
    stages = Stages(only=arguments.stages)
    stages.stage("analyzer", partial(lint.tidy, analyze=True))
    stages.stage("core", partial(_ctest, "release"))
    stages.stage("core-repeated", _repeat)
    stages.stage("mutations", lambda: run(["python3", "-m", "tests.faults.mutate"]))
    stages.stage("fuzz", partial(_fuzz, 600))
    stages.stage("fork", partial(_fork, 250))
    stages.stage("chaos", partial(_chaos, 10_000))
    large = ["--stream", "10G", "--pull", "1G", "--limit", "4G"]
    stages.stage("limits", partial(_limits, "release", *large))
    for version in AIRFLOW_FULL:
        stages.stage(f"python-{version}", partial(_python_tests, version, soak=True))
    stages.stage("drills", partial(_drills, 200))
    return stages.run()


def test(arguments: argparse.Namespace) -> int:
    """The whole suite; what CI runs.

    Two stages at a time: while servers, forks and schedulers are waited for, the other compiles.
    """
    stages = Stages(only=arguments.stages, lanes=arguments.lanes)
    if arguments.stages:
        installing.tools()  # On a fresh machine `./dev test lint` is to work, too.
    base = ("setup", "servers")
    with_wheel = (*base, "wheel")
    stages.stage("setup", installing.tools)
    stages.stage("servers", _server_tests, after=("setup",), compiles=True)
    # Nearly everything waits for the wheel.
    stages.stage("wheel", _wheel, after=("setup",), compiles=True)
    stages.stage("lint", _lint, after=("setup",))
    stages.stage("clang-tidy", lint.tidy, after=("setup",), compiles=True)
    stages.stage("core-asan", partial(_core, "asan"), after=base, compiles=True)
    stages.stage("core-tsan", partial(_core, "tsan"), after=base, compiles=True)
    stages.stage("core", partial(_core, "debug", second_server=True), after=base, compiles=True)
    # The longest row. One Airflow at a time: it wants memory, and some of its ports are the same
    # for all.
    for version in (*AIRFLOW_FULL, *AIRFLOW_SHORT):
        work = partial(_airflow_tests, version)
        stages.stage(f"airflow-{version}", work, after=with_wheel, group="airflow")
    celery = partial(_airflow_tests, "3.3.2", celery=True)
    stages.stage("airflow-celery", celery, after=with_wheel, group="airflow")
    for version in AIRFLOW_FULL:
        stages.stage(f"python-{version}", partial(_python_tests, version), after=with_wheel)
    forked = (*with_wheel, "core-asan", "core-tsan")
    stages.stage("fork", partial(_fork, 8), after=forked, group="asan")
    stages.stage("bindings", _bindings, after=("wheel", "core"), compiles=True)
    stages.stage("debootstrap", _debootstrap, after=with_wheel)
    stages.stage("matrix", matrix.check, after=with_wheel)
    stages.stage("access", _access_tests, after=(*with_wheel, "core"))
    stages.stage("chaos", partial(_chaos, 1000, seed=1), after=with_wheel)
    # A dozen targets: within the minute that the stage may take.
    stages.stage("fuzz", partial(_fuzz, 3), after=("core-asan",), group="asan")
    # It measures memory.
    stages.stage("limits", partial(_limits, "debug"), after=("core",), alone=True)
    # Last: it searches what all others have printed.
    stages.stage("leaks", leaks.check, alone=True)
    return stages.run()


_SERVERS = (VersityGW, MinIO, FakeGCS, Azurite)


def _server_env() -> dict[str, str]:
    return {kind.VARIABLE: str(BIN / kind.PROGRAM) for kind in _SERVERS}


def _lint() -> None:
    lint.format_cxx(fix=False)
    lint.python(fix=False)
    lint.shell()
    docs.check()
    # That each entry still fits the sources; `./dev soak` runs them.
    run(["python3", "-m", "tests.faults.mutate", "--check"])


def _ctest(preset: str) -> None:
    """Each test in a process of its own, which none can leave anything to: minutes of starts."""
    folder = build.configure_and_build(preset)
    installing.servers()
    # Unit tests and fault cases need no server; the conformance suite runs against real ones.
    run(["ctest", "--test-dir", folder, "--output-on-failure", "-j2", "-L", "unit|faults"], tail=12)
    ctest = ["ctest", "--test-dir", str(folder), "--output-on-failure", "-j2", "-L", "conformance"]
    _conformance(VersityGW, *ctest, "--no-tests=error", tail=16)
    installing.minio()
    _conformance(MinIO, *ctest, "--no-tests=error", "-R", "/s3( |$)", tail=16)


# What ThreadSanitizer can't know; below the folder that everything runs in.
_SUPPRESSIONS = "suppressions=tests/tsan.supp"


def _core(preset: str, *, second_server: bool = False) -> None:
    """The same tests, each program in one process: to start one takes longer than most tests."""
    folder = build.configure_and_build(preset)
    installing.servers()
    run([folder / "airfreight_unit_tests", "--gtest_brief=1"])
    run([folder / "airfreight_fault_tests", "--gtest_brief=1"])
    program = [str(folder / "airfreight_conformance_tests"), "--gtest_brief=1"]
    options = {"TSAN_OPTIONS": _SUPPRESSIONS} if preset == "tsan" else {}
    _conformance(VersityGW, *program, env=options)
    if second_server:
        installing.minio()
        which = "--gtest_filter=*/s3"
        if "/s3" not in output([*program, which, "--gtest_list_tests"]):
            raise DevError(f"{which} finds no test")
        _conformance(MinIO, *program, which)


def _conformance(
    server: type[S3Server],
    *command: str,
    env: Mapping[str, str] | None = None,
    tail: int = 0,
) -> None:
    """Run the suite, however it is run, against this S3 server and one of each other store."""
    # Only what has an S3 server behind it is of another server's concern.
    first = server is VersityGW
    beside, options = (_BESIDE, ()) if first else ((), ("--tls",))
    run(
        [*beside, "python3", "-m", server.__module__, "--bucket", "conformance", *options, "--",
         *command],
        env=_server_env() | dict(env or {}),
        tail=tail,
    )  # fmt: skip


def _repeat() -> None:
    """What kills, races or randomises, twenty times over."""
    run(
        [
            build.configure_and_build("release") / "airfreight_unit_tests",
            "--gtest_filter=*Kill*:*Process*:*Thread*:*Fork*:*Concurrent*:*Race*",
            "--gtest_repeat=20",
            "--gtest_brief=1",
        ]
    )


def _fuzz(seconds: int) -> None:
    folder = build.configure_and_build("asan")
    for target in sorted((folder / "fuzz").glob("*_fuzz")):
        seeds = ROOT / "fuzz" / "corpus" / target.name.removesuffix("_fuzz")
        if not seeds.is_dir():
            raise DevError(f"{target.name} has no corpus: add {seeds.relative_to(ROOT)}/")
        found = BUILD / "fuzz-corpus" / target.name
        found.mkdir(parents=True, exist_ok=True)
        run(
            [
                target,
                f"-max_total_time={seconds}",
                "-max_len=65536",
                "-verbosity=0",
                "-print_final_stats=1",
                f"-artifact_prefix={BUILD}/",
                found,
                seeds,
            ],
            quiet=True,
        )
        print(f"{target.name}: {seconds} s, no finding")


def _wheel() -> None:
    built = build.wheel()
    run([TOOLS_VENV / "bin" / "python", ROOT / "packaging" / "check_wheel.py", built])
    # build_wheel.sh leaves an environment with nanobind, which the comparison of stubs imports.
    wheel_tools = BUILD / "wheel-tools" / "bin" / "python"
    run([wheel_tools, ROOT / "packaging" / "check_stubs.py", built])


def _debootstrap() -> None:
    run([ROOT / "packaging" / "test_debootstrap.sh", build.wheel()], env=_server_env())


def _server_tests() -> None:
    installing.servers()
    installing.minio()
    run([TOOLS_VENV / "bin" / "python", "-m", "pytest", "-q", "tests/servers"], env=_server_env())


def _access_tests() -> None:
    """Denials and permissions, on servers that know who may do what."""
    venv = installing.core_venv(build.wheel())
    installing.minio()
    python = venv / "bin" / "python"
    run([python, "-m", "pytest", "-q", "tests/access"], env=_server_env())
    # What a worker may do is all that the store and the facade need. (But for what administrators'
    # commands do, whose roles are others.)
    program = build.configure_and_build("debug") / "airfreight_conformance_tests"
    options = ["--gtest_brief=1", "--gtest_filter=*/s3:-*AdministrationTest*"]
    run([python, "-m", "tests.access.worker", "--", program, *options], env=_server_env())
    # And of the backend, on the other server.
    python = installing.airflow_venv(AIRFLOW_FULL[0], build.wheel()) / "bin" / "python"
    run(
        [python, "-m", "pytest", "-q", "tests/python/test_s3.py"],
        env=_server_env() | {"AIRFREIGHT_TEST_AS_WORKER": "1"},
    )


def _fork(rounds: int) -> None:
    """Forks in mid-transfer: the core under ThreadSanitizer, the package under AddressSanitizer."""
    installing.versitygw()
    driver = ["python3", "-m", "tests.fork", "--rounds", str(rounds), "--"]
    harness = build.configure_and_build("tsan") / "airfreight_fork_harness"
    # A child of a process with threads is what this is about, not a mistake.
    options = f"TSAN_OPTIONS=die_after_fork=0:halt_on_error=1:{_SUPPRESSIONS}"
    # ThreadSanitizer lends its slots to threads in turn and retires those that are used up. In a
    # child of an old parent (270 rounds) it took one from a thread that had not come along, and
    # crashed in its own runtime: __tsan::SlotAttachAndLock read that thread's unmapped memory.
    run([*driver[:-1], "--fresh", "25", "--", "env", options, harness], env=_server_env())
    venv = installing.core_venv(build.wheel())
    sanitizer = build.sanitizer_environment(build.sanitized_package())
    words = [f"{name}={value}" for name, value in sanitizer.items()]
    program = [str(venv / "bin" / "python"), "-m", "tests.fork.program"]
    run([*driver, "env", *words, *program], env=_server_env())


def _chaos(transfers: int, *, seed: int | None = None) -> None:
    """Transfers through a proxy that breaks them; and that the run finds what it looks for."""
    installing.versitygw()
    python = installing.core_venv(build.wheel()) / "bin" / "python"
    command = [str(python), "-m", "tests.chaos"]
    seeded = [] if seed is None else ["--seed", str(seed)]
    run([*command, "--transfers", str(transfers), *seeded], env=_server_env())
    say("the same without verification, which has to fail")
    blind = [*command, "--transfers", "200", "--seed", "1", "--without-verification"]
    done = subprocess.run(
        blind, cwd=ROOT, env=os.environ | _server_env(), capture_output=True, text=True, check=False
    )
    print(done.stdout.splitlines()[-1] if done.stdout else done.stderr)
    if done.returncode == 0 or "BROKEN: wrong value" not in done.stdout:
        raise DevError("without verification no wrong value was found: the run proves nothing")


def _limits(preset: str, *sizes: str) -> None:
    """Streams, and many pulls at once, in little memory."""
    installing.versitygw()
    program = build.configure_and_build(preset) / "airfreight_transfer_program"
    command = ["python3", "-m", "tests.limits", "--program", str(program), *sizes]
    run(command, env=_server_env())


def _python_tests(version: str, *, soak: bool = False) -> None:
    venv = installing.airflow_venv(version, build.wheel())
    installing.servers()
    installing.minio()  # (For lifecycle rules, which VersityGW does not know.)
    run(
        [venv / "bin" / "python", "-m", "pytest", "-q", "tests/python", "tests/attacks"],
        env=_server_env() | ({"AIRFREIGHT_SOAK": "1"} if soak else {}),
    )


def _bindings() -> None:
    """The extensions compile without warnings, and stores in Python conform."""
    folder = build.bindings()
    venv = installing.airflow_venv(AIRFLOW_FULL[0], build.wheel())
    run(
        [venv / "bin" / "python", "-m", "pytest", "-q", "tests/stores"],
        env={"AIRFREIGHT_CONFORMANCE": str(folder)},
    )


def _airflow_tests(version: str, *, celery: bool = False) -> None:
    installing.versitygw()
    installing.airflow_venv(version, build.wheel())
    which = "celery" if celery else "not celery"
    run(
        [TOOLS_VENV / "bin" / "python", "-m", "pytest", "-q", "tests/airflow", "-m", which,
         "--airflow", version],
        env=_server_env(),
    )  # fmt: skip


def _drills(tasks: int) -> None:
    """The store killed, tasks killed, the database restarted: in a run of so many tasks."""
    installing.versitygw()
    installing.airflow_venv("3.3.2", build.wheel())
    run(
        [TOOLS_VENV / "bin" / "python", "-m", "pytest", "-q", "-s", "tests/airflow/test_drills.py",
         "--airflow", "3.3.2"],
        env=_server_env() | {"AIRFLOW_TEST_DRILLS": str(tasks)},
    )  # fmt: skip
