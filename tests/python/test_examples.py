"""The examples that sweep are run as they are: the command of the DAG, and that of the CronJob."""

from __future__ import annotations

import re
import runpy
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
import yaml  # type: ignore[import-untyped]
from tests.python import schemas
from tests.python.test_sweep import Aged, World, url, world  # noqa: F401 (the last are fixtures)

from airfreight import runtime
from airfreight._settings_table import ENVIRONMENT_PREFIX, OPTIONS
from airfreight.cli import main

if TYPE_CHECKING:
    from collections.abc import Mapping

EXAMPLES = Path(__file__).parents[2] / "examples"
CONNECTION = "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"


class Shell:
    """Runs the command in this process, with the environment that it is given."""

    def __init__(self, swept: World, monkeypatch: pytest.MonkeyPatch) -> None:
        self.world = swept
        self._patch = monkeypatch
        self._others = subprocess.run
        self.commands: list[list[str]] = []
        monkeypatch.setattr(subprocess, "run", self)
        real = runtime.administration
        monkeypatch.setattr(runtime, "administration", lambda: Aged(real(), swept.ages))

    def __call__(self, command: Any, *, env: Mapping[str, str] | None = None, **more: Any) -> Any:
        if command[0] != "airfreight":  # (Somebody else's.)
            return self._others(command, env=env, **more)
        assert env is not None
        assert more == {"check": True}
        self.commands.append(command)
        with self._patch.context() as patch:
            for name, value in env.items():
                patch.setenv(name, value)
            self.world.box.set()
            status = main(command[1:])
        self.world.box.set()
        if status:
            raise subprocess.CalledProcessError(status, command)
        return None

    def left(self) -> set[str]:
        """The tasks whose objects are there."""
        return {key.split("/")[2] for key in self.world.box.objects() if not key.startswith("~")}


@pytest.fixture
def shell(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Shell:
    """With something to remove, and something to leave."""
    swept: World = request.getfixturevalue("world")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(CONNECTION, "sqlite:////nowhere/airflow.db")
    swept.box.set(deployment_id="prod-eu")
    swept.run("d", "r")
    swept.push(b"1", 60)
    swept.push(b"22", 60, task_id="orphan", row=False)
    swept.push(b"333", 6, task_id="young", row=False)
    return Shell(swept, monkeypatch)


def test_the_dag_sweeps(
    shell: Shell,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    module = runpy.run_path(str(EXAMPLES / "dags" / "airfreight_sweep.py"))
    task = module["airfreight_sweep"]().get_task("sweep")
    assert task.retries == 3
    monkeypatch.setenv("AIRFREIGHT_SWEEP_DATABASE", shell.world.url)
    with pytest.raises(subprocess.CalledProcessError):
        task.python_callable()
    assert "airfreight claim --yes" in capsys.readouterr().err
    assert shell.left() == {"t", "orphan", "young"}
    assert main(["claim", "--yes", "--database", shell.world.url]) == 0
    task.python_callable()
    assert shell.left() == {"t", "young"}
    # Where its worker has Airflow's API, its command is one that the verb takes, once it is said
    # that no archives are made.
    monkeypatch.delenv("AIRFREIGHT_SWEEP_DATABASE")
    monkeypatch.setenv("AIRFREIGHT_SWEEP_API", "http://127.0.0.1:9")
    monkeypatch.setenv("AIRFREIGHT_API_TOKEN", "")
    for without, lacks in ((False, "give --without-archives"), (True, "AIRFREIGHT_API_TOKEN")):
        monkeypatch.setitem(task.python_callable.__globals__, "WITHOUT_ARCHIVES", without)
        with pytest.raises(subprocess.CalledProcessError):
            task.python_callable()
        assert lacks in capsys.readouterr().err
    assert shell.world.url not in str(shell.commands)


def test_the_cronjob_sweeps(shell: Shell, tmp_path: Path) -> None:
    text = (EXAMPLES / "kubernetes" / "airfreight-sweep.yaml").read_text()
    manifest: dict[str, Any] = yaml.safe_load(text)
    jsonschema.validate(manifest, schemas.CRONJOB)
    assert manifest["spec"]["concurrencyPolicy"] == "Forbid"
    pod = manifest["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    # What it has found outlives its container, or it would never go on where it was.
    mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
    assert {*mounts.values()} == {volume["name"] for volume in pod["volumes"]}
    state = container["args"][container["args"].index("--state") + 1]
    assert str(Path(state).parent) in mounts
    env = {one["name"]: one.get("value", shell.world.url) for one in container["env"]}
    ours = {name for name in env if name.startswith(ENVIRONMENT_PREFIX)}
    assert ours <= {f"{ENVIRONMENT_PREFIX}{option.name.upper()}" for option in OPTIONS}
    assert env["AIRFLOW__CORE__XCOM_BACKEND"] == "airfreight.XComBackend"
    assert env[CONNECTION] == shell.world.url
    assert re.fullmatch(r"s3://\w+/\w+", env["AIRFLOW__AIRFREIGHT__STORE"])
    env["AIRFLOW__AIRFREIGHT__STORE"] = f"file://{shell.world.box.root}"
    assert main(["claim", "--yes", "--database", shell.world.url]) == 0
    words = [word.replace(state, str(tmp_path / "found")) for word in container["args"]]
    shell([*container["command"], *words], check=True, env=env)
    assert shell.left() == {"t", "young"}
    assert not (tmp_path / "found").exists()
