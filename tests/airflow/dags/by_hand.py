# mypy: disable-error-code="import-not-found,no-any-return,untyped-decorator"
"""DAG `by_hand`: explicit references, alone and inside other values."""

import datetime
from typing import Any

from common import array, dag, fact, frame, task


@task
def put() -> Any:
    import airfreight

    return airfreight.put(frame(), name="features")


@task
def put_several() -> Any:
    import airfreight

    return {"parts": [airfreight.put(array(n)) for n in range(2)], "count": 2}


@task
def get(reference: Any, several: Any) -> None:
    import numpy as np
    import pandas as pd

    import airfreight

    with fact("a_reference_arrives_as_a_reference"):
        assert type(reference) is airfreight.Reference
    with fact("get_gives_the_frame"):
        pd.testing.assert_frame_equal(airfreight.get(reference), frame(), check_freq=False)
    with fact("references_inside_a_value"):
        assert several["count"] == 2
        assert all(type(part) is airfreight.Reference for part in several["parts"])
        for n, part in enumerate(several["parts"]):
            assert np.array_equal(airfreight.get(part), array(n))


@dag(dag_id="by_hand", schedule=None, start_date=datetime.datetime(2024, 1, 1), catchup=False)
def by_hand() -> None:
    get(put(), put_several())


by_hand()
