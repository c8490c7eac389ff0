# mypy: disable-error-code="import-not-found,no-any-return,untyped-decorator"
"""DAG `options`: what tasks say of how their values are kept, and what their policy makes of it."""

import datetime
import os
from typing import Any

# Before a task of this file asks for the settings.
os.environ["AIRFLOW__AIRFREIGHT__POLICY"] = """\
[[rules]]
name = "tables of this DAG"
dag = "options"
retention = "7d"
"""

from common import dag, fact, frame, large, task

import airfreight

#: Of frames that do not stay in the row of the list that they lie in.
ROWS = 2_000


@task
def produce() -> Any:
    return airfreight.options([frame(ROWS), frame(ROWS)], format="arrow", retention="36h")


@task
def produce_dict() -> Any:
    return airfreight.options({"table": frame(), "large": large()}, format="arrow")


@task
def produce_mappable() -> Any:
    return airfreight.options(airfreight.mappable([frame(ROWS)] * 3), format="arrow")


@task(multiple_outputs=True)
def outputs() -> Any:
    return airfreight.options({"table": frame(), "number": 3}, format="arrow", compression="zstd")


@task
def mapped(number: int) -> Any:
    return airfreight.options(frame(), format="arrow" if number else "parquet")


@task
def take(item: Any) -> Any:
    return [type(item).__name__, len(item)]


@task
def take_pair(pair: Any) -> Any:
    return [type(pair).__name__, pair[0], type(pair[1]).__name__]


@task
def push(ti: Any = None) -> Any:
    ti.xcom_push(key="pushed", value=airfreight.options(frame(), format="arrow"))

    def refusal(value: Any) -> str:
        try:
            ti.xcom_push(key="refused", value=value)
        except (TypeError, ValueError) as error:
            return str(error)
        return "it was pushed"

    with fact("what_is_not_allowed_names_the_rule"):
        said = refusal(airfreight.options(frame(), retention="30d"))
        assert "retention = 30d is longer than the 7d of rule 'tables of this DAG', line 4" in said
    with fact("options_inside_a_value_are_refused_with_their_place"):
        said = refusal({"a": [airfreight.options(1, format="arrow")]})
        assert said.startswith("value['a'][0]: airfreight.options(…) lies inside a value"), said


@task
def read(
    whole: Any, pairs: Any, taken: Any, taken_pairs: Any, taken_of_mappable: Any, several: Any,
    of_mapped: Any, _pushed: Any, ti: Any = None,
) -> None:  # fmt: skip
    import pandas as pd

    def same(found: Any, rows: int = 3) -> None:
        pd.testing.assert_frame_equal(found, frame(rows), check_freq=False)

    with fact("instances_get_their_elements"):
        assert list(taken) == [["DataFrame", ROWS]] * 2
        assert list(taken_of_mappable) == [["DataFrame", ROWS]] * 3
    with fact("instances_of_a_dict_get_pairs"):
        assert sorted(taken_pairs) == [["tuple", "large", "dict"], ["tuple", "table", "DataFrame"]]
    with fact("multiple_outputs"):
        same(several["table"])
        assert several["number"] == 3
        pulled = ti.xcom_pull(task_ids="outputs")
        assert type(pulled) is dict
        assert list(pulled) == ["table", "number"]
        same(pulled["table"])
    with fact("whole"):
        assert type(whole) is list
        assert type(pairs) is dict
        for found in whole:
            same(found, ROWS)
        for found in (pairs["table"], *of_mapped):
            same(found)
        same(ti.xcom_pull(task_ids="push", key="pushed"))


@dag(dag_id="options", schedule=None, start_date=datetime.datetime(2024, 1, 1), catchup=False)
def options() -> None:
    made, pairs, several = produce(), produce_dict(), outputs()
    read(
        made,
        pairs,
        take.expand(item=made),
        take_pair.expand(pair=pairs),
        take.override(task_id="take_of_mappable").expand(item=produce_mappable()),
        {key: several[key] for key in ("table", "number")},
        mapped.expand(number=[0, 1]),
        push(),
    )


options()
