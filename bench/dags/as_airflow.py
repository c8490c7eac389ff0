# mypy: disable-error-code="import-not-found"
"""DAG `as_airflow`: values are logged and arguments rendered as Airflow does it by itself."""

import os

from whole_tasks import make

# In the process that reads this file, which is that of a task, too.
os.environ["AIRFLOW__AIRFREIGHT__LOG_RETURN_VALUES"] = "True"
os.environ["AIRFLOW__AIRFREIGHT__RENDER_WHOLE_ARGUMENTS"] = "True"

dag = make("as_airflow")
