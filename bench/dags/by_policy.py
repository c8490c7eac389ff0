# mypy: disable-error-code="import-not-found"
"""DAG `by_policy`: the same with all of Airfreight's policy."""

import os

from whole_tasks import make

# One process reads several files in Airflow 2.
os.environ.pop("AIRFLOW__AIRFREIGHT__LOG_RETURN_VALUES", None)
os.environ["AIRFLOW__AIRFREIGHT__RENDER_WHOLE_ARGUMENTS"] = "False"

dag = make("by_policy")
