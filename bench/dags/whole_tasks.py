# mypy: disable-error-code="import-not-found,no-any-return,untyped-decorator"
"""What the two DAGs of the suite `tasks` are made of: large values returned, taken, and pulled."""

import datetime
import itertools
from typing import Any

try:
    from airflow.sdk import DAG, task
except ImportError:
    from airflow.decorators import task
    from airflow.models.dag import DAG

TEXT_BYTES = 64_000_000
RECORDS = 300_000
FRAME_ROWS = 1_000_000


def return_text() -> str:
    return "x" * TEXT_BYTES


def make_records() -> list[dict[str, Any]]:
    return [
        {"id": n, "name": f"customer {n}", "price": n / 7, "paid": n % 2 == 0}
        for n in range(RECORDS)
    ]


def make_frame() -> Any:
    import numpy
    import polars

    numbers = numpy.random.default_rng(1)
    return polars.DataFrame({f"c{n}": numbers.random(FRAME_ROWS) for n in range(10)})


def take_records(records: Any) -> None:
    assert len(records) == RECORDS
    assert type(records) is list


def take_frame(frame: Any) -> None:
    assert frame.shape == (FRAME_ROWS, 10)


def pull_records() -> None:
    import airfreight

    take_records(airfreight.pull(task_ids="make_records"))


def pull_frame() -> None:
    import airfreight

    take_frame(airfreight.pull(task_ids="make_frame"))


def nothing() -> None:
    pass


def make(dag_id: str) -> Any:
    """The DAG: one task after the other, so that none is measured beside another."""
    quiet = {"show_return_value_in_logs": False}
    start = datetime.datetime(2024, 1, 1)
    with DAG(dag_id, schedule=None, start_date=start, catchup=False, max_active_tasks=1) as dag:
        # What runs first pays for what the machine has not read from its disk yet.
        warm = task(task_id="warm")(nothing)()
        empty = task(task_id="nothing")(nothing)()
        text = task(return_text)()
        # That these return is not what is measured: they log as little in both DAGs.
        records = task(**quiet)(make_records)()
        frame = task(**quiet)(make_frame)()
        taken = task(take_records)(records), task(take_frame)(frame)
        pulled = task(pull_records)(), task(pull_frame)()
        order = [warm, empty, text, records, taken[0], pulled[0], frame, taken[1], pulled[1]]
        for before, after in itertools.pairwise(order):
            before >> after
    return dag
