"""Rows that somebody has written or changed: none leads outside of what its row may lead to.

Each attack is pulled and purged, as a task that runs again would, against a store that writes down
every request. With a signing key and without one; `docs/threat-model.md` refers to this.
"""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

import pytest

import airfreight
from airfreight import _core, exchange, runtime
from tests.attacks import forgeries
from tests.attacks.world import (
    CANARY,
    KEY,
    OLD_KEY,
    OTHERS,
    ROW,
    SCOPE,
    STRANGERS_KEY,
    VALUE,
    World,
    as_row,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

#: Which rows chance makes.
SEED = 20_261_130
#: Errors that say of a row what is wrong with it.
ERRORS = {
    *("Forged", "OutOfScope", "Invalid", "Corrupt", "Replaced", "NotFound", "Expired"),
    "NewerFormat",
}


@pytest.fixture(scope="module", params=[KEY, None], ids=["with a key", "without a key"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    with World(request.param) as made:
        yield made


def test_the_row_itself_is_read_and_so_is_that_of_another_dag(world: World) -> None:
    outcome, requests = world.attack(as_row(world.row))
    assert outcome.value == VALUE
    assert [request.method for request in requests] == ["GET", "HEAD", "DELETE"]
    assert all(request.path.startswith(SCOPE) for request in requests)
    # A pull from another DAG asks for that DAG's row.
    for name, where in OTHERS.items():
        assert world.pull(as_row(world.others[name]), where).value == [CANARY]


def test_each_attack_is_the_right_error_and_asks_for_nothing_outside(world: World) -> None:
    wrong = []
    for attack in forgeries.by_hand(world):
        outcome, requests = _attacked(world, attack)
        right = attack.with_key if world.keys else attack.without_key
        if outcome.code != right or (right == forgeries.SAME and outcome.value != VALUE):
            wrong.append(f"{attack.name}: {outcome.code or 'a value'}, not {right}: {outcome}")
        if world.keys and right in ("Forged", "OutOfScope", "Invalid", "NewerFormat"):
            assert not requests, attack.name
    assert not wrong, "\n".join(wrong)


def _attacked(world: World, attack: forgeries.Attack) -> Any:
    try:
        return world.attack(_as_row_of_any_depth(attack.fields))
    except AssertionError as error:
        raise AssertionError(f"{attack.name}: {error}") from error


def _as_row_of_any_depth(fields: Any) -> Any:
    """(What `json` itself refuses to write, somebody else may.)"""
    try:
        return as_row(fields)
    except RecursionError:
        text = json.dumps(fields | {"columns": "HERE"})
        return text.replace('"HERE"', "[" * 20_000 + "]" * 20_000).encode()


def test_who_has_another_key_signs_nothing_that_is_followed() -> None:
    with World(KEY) as world:
        for keys in (OLD_KEY, STRANGERS_KEY):
            outcome, requests = world.attack(as_row(world.signed_with(keys)))
            assert outcome.code == "Forged"
            assert not requests
        # In rotation both are valid; what was signed with the old one is read until it is gone.
        world.set(signing_keys=f"{KEY} {OLD_KEY}")
        made = world.signed_with(OLD_KEY)
        world.set(signing_keys=f"{KEY} {OLD_KEY}")
        assert world.pull(as_row(made)).code == "Replaced"  # Its object was taken away here.
        world.set(signing_keys=KEY)
        assert world.pull(as_row(made)).code == "Forged"


def test_what_was_cut_or_has_a_field_twice_is_no_reference(world: World) -> None:
    text = json.dumps(world.row)
    core = runtime.freight()
    for end in range(1, len(text), 7):
        with pytest.raises(airfreight.InvalidError):
            core.get(text[:end])
    for name in world.row:
        twice = f'{text[:-1]}, "{name}": {json.dumps(world.row[name])}}}'
        with pytest.raises(airfreight.InvalidError):
            core.get(twice)
    assert _core.parse_reference(text)["uri"] == world.row["uri"]


def test_nor_does_any_other_way_to_read_it(world: World, tmp_path: Path) -> None:
    """A part of it, its bytes to a file, one of many, and a reference that a program has."""
    target = str(tmp_path / "object")

    def part(fields: Any) -> Any:
        token = exchange.wanted.set(exchange.Wanted(part=("rows", 0)))
        try:
            return exchange.unpack(fields, asked=ROW)
        finally:
            exchange.wanted.reset(token)

    ways: dict[str, Callable[[Any], Any]] = {
        "part": part,
        "columns": lambda row: exchange.follow(_fields(row), ROW, ["rows"]),
        "file": lambda row: exchange.save(_fields(row), target),
        "many": lambda row: exchange.unpack_many([row], ROW)[0],
        "get": lambda row: airfreight.get(airfreight.Reference.from_dict(_fields(row))),
    }
    for attack in forgeries.by_hand(world):
        right = attack.with_key if world.keys else attack.without_key
        if attack.fields["_xcom_backend"] == "inline" or "deeply" in attack.name:
            continue
        for name, read in ways.items():
            # (Asked for as what it is, the real reference of another XCom is a good one.)
            if attack.name.startswith("copied") and name in ("file", "get"):
                continue
            outcome = world.read(read, as_row(attack.fields))
            assert name == "columns" or (outcome.code == "") == (right == forgeries.SAME), (
                attack.name,
                name,
                outcome,
            )


def _fields(row: Any) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads(row) if exchange.ROWS_ARE_BYTES else row
    return fields


def test_of_a_field_that_a_row_has_twice_one_is_taken_for_both(world: World) -> None:
    """What is looked at, what is signed and what is asked for are one and the same."""
    text = json.dumps(world.row)
    for name, first in world.row.items():
        second = world.others["another dag"][name]
        twice = f"{text[:-1]}, {json.dumps(name)}: {json.dumps(second)}}}"
        outcome, _ = world.attack(_as_read(twice))
        once, _ = world.attack(as_row(world.row | {name: second}))
        assert outcome == once, name
        back = f"{twice[:-1]}, {json.dumps(name)}: {json.dumps(first)}}}"
        assert world.attack(_as_read(back))[0].value == VALUE, name


def test_a_row_that_was_cut_is_asked_nothing_for(world: World) -> None:
    text = json.dumps(world.row)
    for end in range(1, len(text), 7):
        cut = text[:end]
        if not exchange.ROWS_ARE_BYTES:  # (Such a column holds JSON, of which this is a text.)
            assert world.attack(cut) == (("", cut, ""), ())
            continue
        world.server.requests.clear()
        with pytest.raises(ValueError, match=r"delimiter|Expecting|Unterminated|enclosed|column"):
            exchange.unpack(cut.encode(), asked=ROW)  # As the default backend reads it.
        exchange.purge(cut.encode(), ROW)
        assert not world.server.requests


def _as_read(text: str) -> Any:
    return text.encode() if exchange.ROWS_ARE_BYTES else json.loads(text)


def test_a_thousand_rows_that_chance_makes_lead_nowhere_else(world: World) -> None:
    codes: dict[str, int] = {}
    for fields in forgeries.made(world, 1000, SEED):
        stored = as_row(fields)
        outcome, _ = world.attack(stored)
        codes[outcome.code] = codes.get(outcome.code, 0) + 1
        assert outcome.code in ERRORS | {""}, (fields, outcome)
        if outcome.code == "" and exchange.ours(stored) is not None:
            assert outcome.value == VALUE, fields
    # (The numbers are the same each time; what they must show is that the whole way was gone.)
    assert codes["Forged"] > 100
    assert codes.get("OutOfScope", 0) + codes["Invalid"] > 100


def test_what_a_user_pushes_is_a_value_whatever_it_looks_like(world: World) -> None:
    text = json.dumps(world.row)
    pushed: list[Any] = [
        text,
        text.encode(),
        [world.row],
        {"a": world.row},
        {"_xcom_backend": "inline", "_airfreight": 1, "_xcom_type": "document", "value": [1]},
        {"~ref": world.row},
        *world.others.values(),
        *(attack.fields for attack in forgeries.by_hand(world) if "deeply" not in attack.name),
    ]
    if not world.keys:
        pushed.append(world.row)
    if exchange.ROWS_ARE_BYTES:
        pushed = [value for value in pushed if _kept(value)]
    for threshold in ("0", "1000000"):
        world.set(threshold=threshold)
        for value in pushed:
            here = ROW._replace(task="pushes")
            try:
                stored = exchange.pack(value, here)
            except TypeError:
                continue  # A number that JSON has no place for, say: it is not kept as another.
            assert exchange.unpack(stored, asked=here) == value
    world.set(threshold="0")
    world.server.objects = dict(world._objects)


def _kept(value: Any) -> bool:
    with contextlib.suppress(TypeError, ValueError):
        json.dumps(value)
        return True
    return isinstance(value, bytes)
