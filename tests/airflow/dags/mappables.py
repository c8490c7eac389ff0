# mypy: disable-error-code="import-not-found,no-any-return,untyped-decorator"
"""DAG `mappables`: what `airfreight.mappable` returns, mapped over and taken whole."""

import datetime
from typing import Any

from common import array, dag, fact, frame, large, task

import airfreight


def piece(number: int) -> Any:
    """1 MiB, another one for each number."""
    import numpy as np

    return np.full(131_072, number, dtype="float64")


@task
def produce() -> Any:
    return airfreight.mappable([piece(n) for n in range(4)])


@task
def produce_dict() -> Any:
    return airfreight.mappable({"table": frame(), "large": large()})


@task
def produce_arguments() -> Any:
    return airfreight.mappable([{"number": n, "extra": array(n)} for n in range(2)])


@task
def numbers() -> Any:
    return [1, 2]


@task(multiple_outputs=True)
def outputs() -> Any:
    return airfreight.mappable({"table": frame(), "array": array()})


@task
def take(item: Any, ti: Any = None) -> Any:
    return [ti.map_index, type(item).__name__, int(item[0]), len(item)]


@task
def take_pair(pair: Any) -> Any:
    return [type(pair).__name__, pair[0], type(pair[1]).__name__]


@task
def take_arguments(number: int, extra: Any) -> Any:
    return [number, float(extra[0][0])]


@task
def take_half(half: Any) -> Any:
    return int(half)


@task
def read(
    whole: Any, pairs: Any, taken: Any, taken_pairs: Any, arguments: Any, halves: Any,
    zipped: Any, several: Any, ti: Any = None,
) -> None:  # fmt: skip
    import collections.abc

    import numpy as np
    import pandas as pd

    with fact("instances_get_their_elements"):
        assert sorted(taken) == [[n, "ndarray", n, 131_072] for n in range(4)]
    with fact("instances_of_a_dict_get_pairs"):
        assert list(taken_pairs) == [["tuple", "table", "DataFrame"], ["tuple", "large", "dict"]]
    with fact("expand_kwargs"):
        assert list(arguments) == [[n, float(array(n)[0][0])] for n in range(2)]
    with fact("map"):
        assert sorted(halves) == [0, 1, 2, 3]
    with fact("zip"):
        assert list(zipped) == [["tuple", 1, "ndarray"], ["tuple", 2, "ndarray"]]
    with fact("multiple_outputs"):
        pd.testing.assert_frame_equal(several["table"], frame(), check_freq=False)
        assert np.array_equal(several["array"], array())
        pulled = ti.xcom_pull(task_ids="outputs")
        assert isinstance(pulled, collections.abc.Mapping)
        assert list(pulled) == ["table", "array"]
        pd.testing.assert_frame_equal(pulled["table"], frame(), check_freq=False)
    with fact("whole"):
        assert isinstance(whole, collections.abc.Sequence)
        assert len(whole) == 4
        assert np.array_equal(whole[-1], piece(3))
        assert [int(one[0]) for one in whole] == [0, 1, 2, 3]
        assert [int(one[0]) for one in whole[1:3]] == [1, 2]
        pulled = ti.xcom_pull(task_ids="produce")
        assert [int(one[0]) for one in pulled] == [0, 1, 2, 3]
    with fact("whole_dict"):
        assert isinstance(pairs, collections.abc.Mapping)
        assert pairs["large"] == large()
        pd.testing.assert_frame_equal(dict(pairs)["table"], frame(), check_freq=False)


@dag(dag_id="mappables", schedule=None, start_date=datetime.datetime(2024, 1, 1), catchup=False)
def mappables() -> None:
    made = produce()
    pairs = produce_dict()
    several = outputs()
    keys = {key: several[key] for key in ("table", "array")}
    taken = take.expand(item=made)
    taken_pairs = take_pair.expand(pair=pairs)
    arguments = take_arguments.expand_kwargs(produce_arguments())
    halves = take_half.expand(half=made.map(lambda one: one[0]))
    zipped = take_pair.override(task_id="take_zipped").expand(pair=numbers().zip(made))
    read(made, pairs, taken, taken_pairs, arguments, halves, zipped, keys)


mappables()
