"""A thousand signed references in each database's own form of JSON: each comes back valid.

PostgreSQL and MariaDB as Debian has them, SQLite as Python has it. MySQL is a double that does what
its manual says of the type JSON (dev.mysql.com/doc/refman/8.4/en/json.html, "Normalization,
Merging, and Autowrapping of JSON Values"): members are sorted, of names that occur twice the last
stands, and what is read is printed anew. Airflow 2 has columns of bytes everywhere, which are tried
as such.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa

from airfreight import exchange
from tests.attacks.world import KEY, ROW, World, as_row
from tests.servers.mariadb import MariaDB
from tests.servers.postgres import Postgres

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

COUNT = 1000
#: Parts of coordinates that a database or an encoding might change.
_PARTS = ("a", "Ä\u0308", "ä", "東京", "\U0001f680", "a b", "a'b\"c\\d", "a/b%2e", "x" * 200, "🚀é")


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with World(KEY) as made:
        yield made


@pytest.fixture(scope="module")
def references(world: World) -> list[dict[str, Any]]:
    items = []
    for number in range(COUNT):
        part = _PARTS[number % len(_PARTS)]
        where = ROW._replace(dag="sales", run=f"{part}-{number}", task=part, map_index=number)
        items.append((f"value {number}", where.coordinate(), where))
    return [json.loads(text) for text in exchange.store_many(items) if isinstance(text, str)]


def _sqlite(texts: Sequence[str]) -> list[Any]:
    kind = "BLOB" if exchange.ROWS_ARE_BYTES else "JSON"
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(f"CREATE TABLE rows (n INTEGER PRIMARY KEY, value {kind})")
        given = [(text.encode() if exchange.ROWS_ARE_BYTES else text,) for text in texts]
        database.executemany("INSERT INTO rows (value) VALUES (?)", given)
        return [row for (row,) in database.execute("SELECT value FROM rows ORDER BY n")]


def _postgresql(texts: Sequence[str]) -> list[Any]:
    kind = "bytea" if exchange.ROWS_ARE_BYTES else "jsonb"
    with Postgres() as server:
        engine = sa.create_engine(server.url())
        with engine.begin() as connection:
            connection.execute(sa.text(f"CREATE TABLE xcoms (n serial PRIMARY KEY, value {kind})"))
            connection.execute(
                sa.text(f"INSERT INTO xcoms (value) VALUES (CAST(:value AS {kind}))"),
                [{"value": text.encode() if exchange.ROWS_ARE_BYTES else text} for text in texts],
            )
            shown = "value" if exchange.ROWS_ARE_BYTES else "CAST(value AS text)"
            rows = connection.execute(sa.text(f"SELECT {shown} FROM xcoms ORDER BY n"))
            made = [bytes(row) if exchange.ROWS_ARE_BYTES else row for (row,) in rows]
        engine.dispose()
        return made


def _mariadb(texts: Sequence[str]) -> list[Any]:
    kind = "LONGBLOB" if exchange.ROWS_ARE_BYTES else "JSON"
    with ExitStack() as stack:
        server = stack.enter_context(MariaDB())
        server.make("trip")
        server.run(f"CREATE TABLE xcoms (n INT AUTO_INCREMENT PRIMARY KEY, value {kind})", "trip")
        for some in _chunks(texts):
            values = ", ".join(f"(X'{text.encode().hex()}')" for text in some)
            if not exchange.ROWS_ARE_BYTES:
                values = values.replace("(X'", "(CONVERT(X'").replace("')", "' USING utf8mb4))")
            server.run(f"INSERT INTO xcoms (value) VALUES {values}", "trip")
        lines = server.run("SELECT HEX(value) FROM xcoms ORDER BY n", "trip").splitlines()
        made = [bytes.fromhex(line) for line in lines]
        return list(made) if exchange.ROWS_ARE_BYTES else [row.decode() for row in made]


def _mysql(texts: Sequence[str]) -> list[Any]:
    if exchange.ROWS_ARE_BYTES:
        return [text.encode() for text in texts]
    return [
        json.dumps(_sorted(json.loads(text)), ensure_ascii=False, separators=(", ", ": "))
        for text in texts
    ]


def _sorted(value: Any) -> Any:
    """Members by the length of their names, and then by their bytes."""
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: (len(name.encode()), name.encode()))
        return {name: _sorted(value[name]) for name in names}
    return [_sorted(one) for one in value] if isinstance(value, list) else value


def _chunks(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """(The argument of a command has a limit.)"""
    yield from (texts[first : first + 40] for first in range(0, len(texts), 40))


@pytest.mark.parametrize(
    ("trip", "written"),
    [
        (_sqlite, "as it is"),
        (_sqlite, "rewritten"),
        (_postgresql, "rewritten"),
        (_mariadb, "as it is"),
        (_mysql, "rewritten"),
    ],
)
def test_a_thousand_signed_references_are_accepted_after_the_trip(
    world: World,
    references: list[dict[str, Any]],
    trip: Callable[[Sequence[str]], list[Any]],
    written: str,
) -> None:
    assert len(references) == COUNT
    if written == "as it is":
        texts = [json.dumps(fields) for fields in references]
    else:
        # What else may write a row: other escapes, blanks, an order of its own, other numbers.
        texts = [
            json.dumps(dict(reversed(fields.items())), ensure_ascii=False, indent=1).replace(
                f'"size_bytes": {fields["size_bytes"]}', f'"size_bytes": {fields["size_bytes"]}.0'
            )
            for fields in references
        ]
    rows = trip(texts)
    if not exchange.ROWS_ARE_BYTES:
        rows = [json.loads(row) for row in rows]
    assert len(rows) == COUNT
    assert exchange.unpack_many(rows) == [f"value {number}" for number in range(COUNT)]
    # In the same run what is forged is refused after the same trip.
    forged = trip([json.dumps(references[0] | {"task": "other"})])[0]
    stored = forged if exchange.ROWS_ARE_BYTES else json.loads(forged)
    assert world.pull(stored, None).code == "Forged"
    assert world.pull(as_row(references[0]), None).code == ""
