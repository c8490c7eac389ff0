"""Removes the objects of XComs that no row needs any more, every Sunday.

`airfreight sweep` reads Airflow's database, which Airflow 3 keeps its tasks away from: there, give
the workers of this DAG one of

- `AIRFREIGHT_SWEEP_DATABASE`: the URL of a database user that may read, and delete from `xcom`
  where `--retention` is used;
- `AIRFREIGHT_SWEEP_API`: Airflow's address, and `AIRFREIGHT_API_TOKEN`, a token of a user who may
  read all DAGs. `WITHOUT_ARCHIVES` below has to be set for it, once that holds;

or run it beside the scheduler (`examples/kubernetes/airfreight-sweep.yaml`). On Airflow 2 nothing
is needed.
"""

from __future__ import annotations

import os
import subprocess
from datetime import datetime, timedelta, timezone

try:
    from airflow.sdk import dag, task
except ImportError:  # Airflow 2
    from airflow.decorators import dag, task

#: With `AIRFREIGHT_SWEEP_API` alone. False: nothing is removed, the task fails and says why. Set it
#: to True where `airflow db clean` is never run, or always with `--skip-archive`, or its archives
#: may lose their objects, and it has never removed rows of the table `dag`: no API shows what it
#: puts away (docs/sweep.md, "Without the database").
WITHOUT_ARCHIVES = False


@dag(
    schedule="@weekly",
    start_date=datetime(2026, 1, 1, tzinfo=timezone.utc),
    catchup=False,
    max_active_runs=1,
    tags=["airfreight"],
)
def airfreight_sweep() -> None:
    """One task; a retry goes on where the attempt before was ended, if it finds the folder."""

    @task(retries=3, retry_delay=timedelta(minutes=10), execution_timeout=timedelta(hours=12))
    def sweep() -> None:
        command = ["airfreight", "sweep", "--yes", "--state", "airfreight-sweep"]
        env = dict(os.environ)
        if database := env.get("AIRFREIGHT_SWEEP_DATABASE"):
            # (Not by --database: its password would be in the list of processes, and in the log of
            # this task when the command fails.)
            env["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"] = database
        elif address := os.environ.get("AIRFREIGHT_SWEEP_API"):
            command += ["--via", "api", "--api-url", address]
            command += ["--without-archives"] if WITHOUT_ARCHIVES else []
        subprocess.run(command, check=True, env=env)

    sweep()


airfreight_sweep()
