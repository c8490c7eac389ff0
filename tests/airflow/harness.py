"""A real Airflow for tests: PostgreSQL, scheduler, API server and the rest, started and ended here.

    with Airflow("3.3.2", dags=pathlib.Path("dags"), env={...}) as airflow:
        run = airflow.trigger("sales")
        assert airflow.wait("sales", run) == "success"
        rows = airflow.xcom_rows("sales", run)

Each `Airflow` has a directory, a PostgreSQL cluster and ports of its own, so several can run at a
time. Every task runs in a process of its own, as in production. A start takes 15-30 s, so tests
share one per release (`conftest.py`).

The database is read through `psql` and REST through `urllib`: this module needs nothing but the
standard library, whichever Python the environment under test has.
"""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import glob
import json
import os
import pathlib
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tests import leaks
from tests.servers.process import free_port

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

# How long we wait before we say that something hangs. Nothing is measured by these: the machine may
# be slow, and a run that works never comes near them.
START_TIMEOUT = 240.0
RUN_TIMEOUT = 300.0
STOP_TIMEOUT = 10.0
POLL = 0.25

# The environment variable that marks every process that descends from one harness.
MARK = "AIRFREIGHT_TEST_HARNESS"


class HarnessError(Exception):
    """Airflow or its database did not do what a test needs; the message holds the log's end."""


@dataclasses.dataclass(frozen=True)
class XComRow:
    """A row of Airflow's XCom table, as the database holds it.

    `raw` is the column's bytes on Airflow 2, and the UTF-8 text of the JSON column on Airflow 3.
    """

    dag_id: str
    run_id: str
    task_id: str
    map_index: int
    key: str
    raw: bytes

    @property
    def value(self) -> Any:
        """The decoded JSON of `raw`."""
        return json.loads(self.raw)


def find_program(name: str, patterns: Iterable[str], package: str) -> str:
    """The path of a server program; a message that says how to get it when it is missing."""
    found = [path for pattern in patterns for path in sorted(glob.glob(pattern))]
    path = found[-1] if found else shutil.which(name)
    if path is None:
        raise HarnessError(
            f"These tests need {name}, which is not on this machine: `apt-get install {package}`."
        )
    return path


def _tail(path: pathlib.Path, lines: int = 60) -> str:
    """The last lines of a text file, or a word that there is none."""
    if not path.exists():
        return "(no such file)"
    return "\n".join(line[:300] for line in path.read_text(errors="replace").splitlines()[-lines:])


def _setpriv(user: str | None, last_word: signal.Signals) -> list[str]:
    """A command prefix: run as `user`, and get a signal when the process that started it dies."""
    program = find_program("setpriv", (), "util-linux")
    prefix = [program, f"--pdeathsig={last_word.name.removeprefix('SIG')}"]
    if user is not None:
        group = pwd.getpwnam(user).pw_gid
        prefix += [f"--reuid={user}", f"--regid={group}", "--clear-groups"]
    return [*prefix, "--"]


class Process:
    """A child process in a session of its own, with its output in a file."""

    def __init__(
        self,
        name: str,
        command: list[str],
        log: pathlib.Path,
        env: Mapping[str, str],
        *,
        user: str | None = None,
        last_word: signal.Signals | None = None,
    ) -> None:
        """Starts `command`; its standard output and error go to the file `log`."""
        self.name = name
        self.log = log
        self._last_word = last_word
        # Should this test process be killed, then the child is asked to end.
        self._command = [*_setpriv(user, last_word or signal.SIGTERM), *command]
        self._env = dict(env)
        self._start()

    def _start(self) -> None:
        with open(self.log, "ab") as out:
            self._popen = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env=self._env,
                cwd=self.log.parent,
                start_new_session=True,
            )

    def revive(self) -> bool:
        """Starts it again if it has ended, as a supervisor does; whether it had."""
        if self._popen.poll() is None:
            return False
        self._start()
        return True

    def end(self, word: signal.Signals) -> None:
        """Asks it to end, and waits until it has."""
        self._popen.send_signal(word)
        self._popen.wait(START_TIMEOUT)

    def check(self) -> None:
        """Raises when the process has ended."""
        code = self._popen.poll()
        if code is not None:
            raise HarnessError(f"{self.name} ended with exit code {code}.\n{self.tail()}")

    def tail(self, lines: int = 60) -> str:
        """The end of its output, under a heading."""
        return f"--- the end of {self.name}'s output\n{_tail(self.log, lines)}"

    def stop(self) -> None:
        """Ends the process and its group at once: few things here need an orderly end. Safe twice.

        Only a process with a `last_word` is sent that first, and given some seconds.
        """
        if self._last_word is not None and self._popen.poll() is None:
            self._popen.send_signal(self._last_word)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._popen.wait(STOP_TIMEOUT)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._popen.pid, signal.SIGKILL)
        self._popen.wait()


class Postgres:
    """A PostgreSQL cluster in a directory of its own, gone when it is stopped.

    `initdb` refuses to run as root; then the server runs as user `postgres`, or else `nobody`.
    """

    def __init__(self, directory: pathlib.Path, env: Mapping[str, str]) -> None:
        """Makes and starts the cluster, with an empty database `airflow`."""
        patterns = "/usr/lib/postgresql/*/bin/{}"
        programs = {
            name: find_program(name, (patterns.format(name),), "postgresql")
            for name in ("initdb", "postgres", "psql")
        }
        self._psql = programs["psql"]
        self.port = free_port()
        user = None
        directory.mkdir(mode=0o700)
        if os.geteuid() == 0:
            known = {entry.pw_name for entry in pwd.getpwall()}
            user = "postgres" if "postgres" in known else "nobody"
            shutil.chown(directory, user)
        data = directory / "data"
        self._env = {**env, "LC_ALL": "C.UTF-8", "HOME": str(directory)}
        made = subprocess.run(
            [
                *(
                    *_setpriv(user, signal.SIGTERM),
                    programs["initdb"],
                    "-D",
                    str(data),
                    "-U",
                    "airflow",
                ),
                *("--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C.UTF-8"),
            ],
            capture_output=True,
            text=True,
            env=self._env,
            cwd="/",
            check=False,
        )
        if made.returncode != 0:
            raise HarnessError(f"initdb failed:\n{made.stdout}\n{made.stderr}")
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": str(directory),
            "fsync": "off",
            "synchronous_commit": "off",
            "full_page_writes": "off",
            "max_connections": "200",
        }
        command = [programs["postgres"], "-D", str(data)]
        for key, value in settings.items():
            command += ["-c", f"{key}={value}"]
        log = directory.parent / "postgres.log"
        # An immediate shutdown; PostgreSQL gives back its shared memory even so.
        last_word = signal.SIGQUIT
        self.process = Process("postgres", command, log, self._env, user=user, last_word=last_word)
        try:
            self._wait_until_it_answers()
            self.text("CREATE DATABASE airflow", database="postgres")
        except BaseException:
            self.process.stop()
            raise

    def restart(self) -> None:
        """Ends the server as an administrator does (a fast shutdown), and starts it again."""
        self.process.end(signal.SIGINT)
        self.process.revive()
        self._wait_until_it_answers()

    def _wait_until_it_answers(self) -> None:
        end = time.monotonic() + START_TIMEOUT
        while True:
            self.process.check()
            try:
                self.text("SELECT 1", database="postgres")
            except HarnessError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)
            else:
                return

    def text(self, sql: str, *, database: str = "airflow", **parameters: str) -> str:
        """Runs `sql` and returns its output; `:'name'` in it stands for a parameter as text."""
        command = [self._psql, "-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1"]
        command += ["-h", "127.0.0.1", "-p", str(self.port), "-U", "airflow", "-d", database]
        for name, value in parameters.items():
            command += ["-v", f"{name}={value}"]
        done = subprocess.run(
            command, input=sql, capture_output=True, text=True, env=self._env, check=False
        )
        if done.returncode != 0:
            raise HarnessError(f"psql failed: {done.stderr.strip()}\n{sql}")
        return done.stdout.strip()

    def rows(self, sql: str, **parameters: str) -> list[dict[str, Any]]:
        """The rows that a SELECT gives, as dictionaries. Columns must be of kinds that JSON has."""
        wrapped = f"SELECT coalesce(json_agg(r), '[]'::json) FROM ({sql}) r"
        answer: list[dict[str, Any]] = json.loads(self.text(wrapped, **parameters))
        return answer


class Airflow:
    """One running Airflow of a given release.

    Made by `tools/airflow_env.py <version>` beforehand. Not for several threads at a time.
    """

    def __init__(
        self,
        version: str,
        dags: pathlib.Path,
        env: Mapping[str, str] | None = None,
        *,
        rest: bool = True,
        triggerer: bool = False,
        workers: Mapping[str, Mapping[str, str]] | None = None,
        name: str = "",
        configuration: str = "",
    ) -> None:
        """Describes an Airflow; `start` or a `with` statement starts it.

        dags: the folder of DAG files. They are read at the start, and again every two minutes.
        env: settings and anything else for the environment of every process.
        rest: whether Airflow 2 gets its webserver (Airflow 3 always has its API server). Without
            it, `rest` and `clear` don't work.
        workers: one Celery worker for each name, with its own additions to the environment; the
            name is its host name, and a queue that only it serves. Redis comes with them.
        configuration: what stands in its `airflow.cfg`; "": what Airflow itself writes there.
        """
        self.version = version
        self.major = int(version.split(".")[0])
        self.minor = int(version.split(".")[1])
        self._dags = dags
        self._extra = dict(env or {})
        self._rest = rest or self.major >= 3
        self._triggerer = triggerer
        self._workers = dict(workers or {})
        self._name = name or version
        self._token: str | None = None
        self._processes: list[Process] = []
        self._mark = secrets.token_hex(8)
        venv = ROOT / "build" / "venvs" / f"airflow-{version}"
        self.python = venv / "bin" / "python"
        if not self.python.exists():
            raise HarnessError(
                f"There is no environment for Airflow {version}: "
                f"`python3 tools/airflow_env.py {version} --wheel dist/….whl`."
            )
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix=f"airfreight-{self._name}-"))
        self.directory.chmod(0o755)
        self.home = self.directory / "home"
        self.home.mkdir()
        if configuration:
            (self.home / "airflow.cfg").write_text(configuration)
        self.port = free_port()
        self.postgres: Postgres

    # Start and stop.

    def __enter__(self) -> Airflow:
        """Starts it."""
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stops it.

        Raises:
            HarnessError: a log holds a secret of the tests.
        """
        leaked: list[str] = []
        try:
            leaked = self.leaked()
        finally:
            self.stop()
        if leaked:
            raise HarnessError("secrets are in Airflow's logs:\n" + "\n".join(leaked[:20]))

    def leaked(self) -> list[str]:
        """The places in the logs of tasks and components where a secret of the tests stands.

        Or a value that is planted, or a signature.
        """
        return [
            f"{path.relative_to(self.directory)}, {place}"
            for path in self.directory.rglob("*.log")
            for place in leaks.search(path.read_bytes(), leaks.NEEDLES, shapes=True)
        ]

    def start(self) -> None:
        """Starts everything and returns when the API answers. After an error nothing is left."""
        try:
            self._start()
        except BaseException:
            self.stop()
            raise

    def _start(self) -> None:
        basic = self._basic_environment()
        self.postgres = Postgres(self.directory / "postgres", basic)
        self._processes.append(self.postgres.process)
        self.env = {**basic, **self._airflow_environment(), **self._extra}
        if self._workers:
            redis = find_program("redis-server", (), "redis-server")
            self._spawn("redis", redis, "--port", str(self._redis_port), "--save", "")
        if self.major == 2 and self._rest:
            # Whoever calls is an administrator: what is tested here is not Airflow's login.
            (self.home / "webserver_config.py").write_text("AUTH_ROLE_PUBLIC = 'Admin'\n")
        self.airflow("db", "migrate")
        if self.major >= 3:
            self._component("api-server", "--host", "127.0.0.1", "--port", str(self.port))
            self._component("dag-processor")
        elif self._rest:
            self._component("webserver", "--hostname", "127.0.0.1", "--port", str(self.port))
        self._component("scheduler", "--skip-serve-logs")
        if self._triggerer:
            self._component("triggerer", "--skip-serve-logs")
        for name, extra in self._workers.items():
            self._component(
                *("celery", "worker", "--celery-hostname", name, "--queues", f"default,{name}"),
                *("--concurrency", "2", "--skip-serve-logs"),
                name=f"worker-{name}",
                extra=extra,
            )
        if self._rest:
            self._until("the API server answers", self._api_answers, START_TIMEOUT)

    def stop(self) -> None:
        """Ends every process that was started, and their children, and removes the directory.

        With `AIRFREIGHT_KEEP_AIRFLOW` set in the environment the directory with all logs stays.
        """
        for process in reversed(self._processes):
            process.stop()
        self._kill_descendants()
        self._processes.clear()
        if os.environ.get("AIRFREIGHT_KEEP_AIRFLOW"):
            print(f"Airflow {self._name} ran in {self.directory}")
        else:
            shutil.rmtree(self.directory, ignore_errors=True)

    def _kill_descendants(self) -> None:
        """Kills what bears our mark: tasks make sessions of their own and outlive a scheduler."""
        wanted = f"{MARK}={self._mark}".encode()
        found = True
        while found:  # What forks while we look is found at the next look.
            found = False
            for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
                with contextlib.suppress(OSError):  # It has ended, or is not ours.
                    if wanted in path.read_bytes().split(b"\0"):
                        os.kill(int(path.parent.name), signal.SIGKILL)
                        found = True

    def _basic_environment(self) -> dict[str, str]:
        """The caller's environment without what would steer Airflow, Python or a cloud's client."""
        unwanted = ("AIRFLOW", "AWS_", "PYTHON", "VIRTUAL_ENV", "PYTEST", "PG", "AIRFREIGHT")
        kept = {key: value for key, value in os.environ.items() if not key.startswith(unwanted)}
        return {**kept, MARK: self._mark}

    def _airflow_environment(self) -> dict[str, str]:
        database = f"127.0.0.1:{self.postgres.port}/airflow"
        key = base64.urlsafe_b64encode(os.urandom(32)).decode()
        secret = secrets.token_hex(64)
        settings = {
            "CORE__DAGS_FOLDER": str(self._dags),
            "CORE__LOAD_EXAMPLES": "False",
            "CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
            # Every file is one, whether or not it has the word "airflow" in it.
            "CORE__DAG_DISCOVERY_SAFE_MODE": "False",
            "CORE__EXECUTOR": "CeleryExecutor" if self._workers else "LocalExecutor",
            # Two cores, and the rest of Airflow wants some of them.
            "CORE__PARALLELISM": "3",
            "CORE__FERNET_KEY": key,
            "CORE__HOSTNAME_CALLABLE": "socket.gethostname",
            "CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
            "CORE__EXECUTION_API_SERVER_URL": f"http://127.0.0.1:{self.port}/execution/",
            "DATABASE__SQL_ALCHEMY_CONN": f"postgresql+psycopg2://airflow@{database}",
            "USAGE_DATA_COLLECTION__ENABLED": "False",
            "API_AUTH__JWT_SECRET": secret,
            "API__SECRET_KEY": secret,
            "API__WORKERS": "1",
            "API__PORT": str(self.port),
            "API__BASE_URL": f"http://127.0.0.1:{self.port}",
            # The tests' files never change while they run: read them once, promptly.
            "DAG_PROCESSOR__PARSING_PROCESSES": "1",
            "DAG_PROCESSOR__REFRESH_INTERVAL": "120",
            "DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "120",
            "SCHEDULER__SCHEDULER_HEARTBEAT_SEC": "1",
            "SCHEDULER__JOB_HEARTBEAT_SEC": "1",
            "SCHEDULER__SCHEDULER_IDLE_SLEEP_TIME": "0.2",
        }
        if self.major == 2:
            del settings["API__BASE_URL"], settings["API__PORT"], settings["API__WORKERS"]
            settings |= {
                "API__AUTH_BACKENDS": "airflow.api.auth.backend.default",
                "WEBSERVER__SECRET_KEY": secret,
                "WEBSERVER__WORKERS": "1",
                "WEBSERVER__SHOW_TRIGGER_FORM_IF_NO_PARAMS": "False",
                "SCHEDULER__PARSING_PROCESSES": "1",
                "SCHEDULER__DAG_DIR_LIST_INTERVAL": "120",
                "SCHEDULER__MIN_FILE_PROCESS_INTERVAL": "120",
            }
        if self._workers:
            self._redis_port = free_port()
            settings |= {
                "CELERY__BROKER_URL": f"redis://127.0.0.1:{self._redis_port}/0",
                "CELERY__RESULT_BACKEND": f"db+postgresql://airflow@{database}",
            }
        return {
            **{f"AIRFLOW__{key}": value for key, value in settings.items()},
            "AIRFLOW_HOME": str(self.home),
            # What no log may tell, for values and keys of `dags/signed.py`.
            "AIRFLOW_TEST_MARK": leaks.MARK,
            "SCARF_ANALYTICS": "false",
            "DO_NOT_TRACK": "1",
            "PATH": f"{self.python.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        }

    def _spawn(self, name: str, *command: str, extra: Mapping[str, str] | None = None) -> Process:
        log = self.directory / f"{name}.log"
        process = Process(name, list(command), log, {**self.env, **(extra or {})})
        self._processes.append(process)
        return process

    def _component(
        self, *words: str, name: str = "", extra: Mapping[str, str] | None = None
    ) -> Process:
        command = (str(self.python), "-m", "airflow", *words)
        return self._spawn(name or words[0], *command, extra=extra)

    def run(
        self, *words: str, extra: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Runs an `airflow` command to its end, with an addition to its environment."""
        return subprocess.run(
            [str(self.python), "-m", "airflow", *words],
            capture_output=True,
            text=True,
            env={**self.env, **(extra or {})},
            cwd=self.directory,
            timeout=START_TIMEOUT,
            check=False,
        )

    def airflow(self, *words: str) -> str:
        """Runs an `airflow` command that must succeed; returns its standard output."""
        done = self.run(*words)
        if done.returncode != 0:
            said = "\n".join((done.stdout + done.stderr).splitlines()[-60:])
            raise HarnessError(f"`airflow {' '.join(words)}` failed:\n{said}")
        return done.stdout

    # Waiting.

    def _until(self, what: str, done: Callable[[], bool], timeout: float) -> None:
        """Waits for `done()`; raises when a component has ended or the time is over."""
        end = time.monotonic() + timeout
        while not done():
            for process in self._processes:
                process.check()
            if time.monotonic() > end:
                tails = "\n".join(process.tail(25) for process in self._processes)
                raise HarnessError(f"Waited {timeout:.0f} s until {what}.\n{tails}")
            time.sleep(POLL)

    def revive(self) -> list[str]:
        """Starts the components that have ended again, as a supervisor does; their names."""
        return [process.name for process in self._processes if process.revive()]

    def _api_answers(self) -> bool:
        path = "/api/v2/monitor/health" if self.major >= 3 else "/api/v1/health"
        try:
            self.rest("GET", path)
        except (OSError, HarnessError):
            return False
        return True

    def wait_for_dag(self, dag_id: str) -> None:
        """Waits until Airflow knows the DAG; raises with the traceback if its file failed."""

        def known() -> bool:
            errors = self.postgres.rows("SELECT filename, stacktrace FROM import_error")
            if errors:
                text = "\n".join(f"{e['filename']}:\n{e['stacktrace']}" for e in errors)
                raise HarnessError(f"Airflow could not read DAG files.\n{text}")
            sql = "SELECT count(*) FROM serialized_dag s JOIN dag d USING (dag_id)"
            return self.postgres.text(f"{sql} WHERE dag_id = :'dag'", dag=dag_id) != "0"

        self._until(f"DAG {dag_id} is known", known, START_TIMEOUT)

    # REST.

    def rest(self, method: str, path: str, body: object = None) -> Any:
        """Calls Airflow's public REST API as an administrator; returns the decoded answer.

        Raises `HarnessError` with status and body when the answer is not a success.
        """
        headers = {"Accept": "application/json"}
        if self.major >= 3:
            if self._token is None:
                made = self._http("GET", "/auth/token", None, headers)
                self._token = str(made["access_token"])
            headers["Authorization"] = f"Bearer {self._token}"
        return self._http(method, path, body, headers)

    def _http(self, method: str, path: str, body: object, headers: Mapping[str, str]) -> Any:
        data, sent = None, {**headers}
        if body is not None:  # (Airflow 2 refuses a DELETE that says of what type nothing is.)
            data, sent["Content-Type"] = json.dumps(body).encode(), "application/json"
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", data=data, method=method, headers=sent
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                content = answer.read()
        except urllib.error.HTTPError as error:
            said = error.read().decode(errors="replace")
            raise HarnessError(f"{method} {path} gave {error.code}: {said[:2000]}") from error
        return json.loads(content) if content else None

    # DAG runs.

    def trigger(
        self, dag_id: str, run_id: str | None = None, conf: Mapping[str, object] | None = None
    ) -> str:
        """Starts a run of a DAG, once Airflow knows it; returns the run's id."""
        self.wait_for_dag(dag_id)
        run = run_id or f"manual__{secrets.token_hex(4)}"
        if self._rest:
            body: dict[str, object] = {"dag_run_id": run, "conf": dict(conf or {})}
            if self.major >= 3:
                body["logical_date"] = None
            self.rest("POST", f"{self._dag_path(dag_id)}/dagRuns", body)
        else:
            text = json.dumps(dict(conf or {}))
            self.airflow("dags", "trigger", "--run-id", run, "--conf", text, dag_id)
        return run

    def _dag_path(self, dag_id: str) -> str:
        prefix = "/api/v2" if self.major >= 3 else "/api/v1"
        return f"{prefix}/dags/{urllib.parse.quote(dag_id, safe='')}"

    def run_state(self, dag_id: str, run_id: str) -> str:
        """The state of a DAG run, as the database has it."""
        sql = "SELECT state FROM dag_run WHERE dag_id = :'dag' AND run_id = :'run'"
        return self.postgres.text(sql, dag=dag_id, run=run_id)

    def wait(self, dag_id: str, run_id: str, timeout: float = RUN_TIMEOUT) -> str:
        """Waits for the end of a DAG run; returns `success` or `failed`."""
        ends = ("success", "failed")
        try:
            self._until(
                f"run {run_id} of {dag_id} ends",
                lambda: self.run_state(dag_id, run_id) in ends,
                timeout,
            )
        except HarnessError as error:
            states = self.task_states(dag_id, run_id)
            raise HarnessError(f"{error}\n--- task states\n{states}") from None
        return self.run_state(dag_id, run_id)

    def task_states(self, dag_id: str, run_id: str) -> dict[tuple[str, int], str | None]:
        """(task id, map index; -1 when unmapped) → state, from the database."""
        index, which = "map_index", ""
        if (self.major, self.minor) >= (3, 4):
            # Earlier attempts keep their rows; the one at work is marked.
            index, which = "region_index AS map_index", " AND working_set"
        sql = (
            f"SELECT task_id, {index}, state FROM task_instance"
            f" WHERE dag_id = :'dag' AND run_id = :'run'{which}"
        )
        rows = self.postgres.rows(sql, dag=dag_id, run=run_id)
        return {(row["task_id"], row["map_index"]): row["state"] for row in rows}

    def task_log(
        self, dag_id: str, run_id: str, task_id: str, map_index: int = -1, attempt: int = 1
    ) -> str:
        """The log of one attempt of a task, as its process wrote it (JSON lines on Airflow 3)."""
        directory = self.home / "logs" / f"dag_id={dag_id}" / f"run_id={run_id}"
        directory /= f"task_id={task_id}"
        if map_index >= 0:
            directory /= f"map_index={map_index}"
        file = directory / f"attempt={attempt}.log"
        if not file.exists():
            known = "\n".join(str(path) for path in sorted(directory.parent.rglob("*.log")))
            raise HarnessError(f"There is no {file}; there are\n{known}")
        return file.read_text(errors="replace")

    def clear(self, dag_id: str, run_id: str, tasks: Iterable[str]) -> None:
        """Clears tasks of a run by REST, so that the scheduler runs them again, and only them."""
        body = {
            "dry_run": False,
            "dag_run_id": run_id,
            "task_ids": list(tasks),
            "only_failed": False,
            "reset_dag_runs": True,
            "include_downstream": False,
            "include_upstream": False,
        }
        self.rest("POST", f"{self._dag_path(dag_id)}/clearTaskInstances", body)

    # XComs.

    def xcom_rows(self, dag_id: str, run_id: str | None = None) -> list[XComRow]:
        """The XCom rows of a DAG straight from the database, in a fixed order.

        From Airflow 3.4 on, earlier attempts of a task keep their rows, and they are here too.
        """
        column = "value" if self.major == 2 else "convert_to(value::text, 'UTF8')"
        table = "xcom"
        if (self.major, self.minor) >= (3, 4):
            table = (
                "(SELECT t.dag_id, t.run_id, t.task_id, t.region_index AS map_index, x.key, x.value"
                " FROM xcom_v2 x JOIN task_instance t ON t.id = x.task_instance_id)"
            )
        sql = (
            "SELECT dag_id, run_id, task_id, map_index, key,"
            f" encode({column}, 'hex') AS raw FROM {table} x WHERE dag_id = :'dag'"
        )
        if run_id is not None:
            sql += " AND run_id = :'run'"
        sql += " ORDER BY run_id, task_id, map_index, key"
        rows = self.postgres.rows(sql, dag=dag_id, run=run_id or "")
        return [XComRow(**{**row, "raw": bytes.fromhex(row["raw"])}) for row in rows]
