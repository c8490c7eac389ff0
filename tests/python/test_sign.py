"""`airfreight sign`: rows from before there were keys, in databases that Airflow has made."""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest
from tests import leaks
from tests.python import databases

import airfreight
from airfreight import cli, config, exchange, runtime
from airfreight.admin import database as admin_database
from airfreight.admin import sign as signs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KEY, OTHER = leaks.key("k1"), leaks.key("k2")
PREFIX = "AIRFLOW__AIRFREIGHT__"
LARGE = "x" * 50_000
ADDRESS = exchange.Address("sales", "r1", "extract", "return_value", map_index=-1)


@pytest.fixture(scope="module")
def urls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    with ExitStack() as stack:
        kinds = ("sqlite", "postgresql")
        yield databases.make(kinds, tmp_path_factory.mktemp("home"), stack)


class Shop:
    """A database with rows from before there were keys.

    Attributes:
        database: as administration sees it.
        rows: writes rows as Airflow would.
        store: the folder of objects.
    """

    def __init__(self, patch: pytest.MonkeyPatch, url: str, folder: Path) -> None:
        self.patch = patch
        self.url = url
        self.store = folder / "store"
        self.set(STORE=f"file://{self.store}")
        self.rows = databases.Rows(url)
        for dag in ("sales", "finance"):
            self.rows.delete(dag, "r1")
            self.rows.run(dag, "r1")
        self.database = admin_database.connect(url)

    def set(self, **settings: str | None) -> None:
        for name, text in settings.items():
            if text is None:
                self.patch.delenv(PREFIX + name, raising=False)
            else:
                self.patch.setenv(PREFIX + name, text)
        config.forget()
        runtime.forget()

    def push(self, value: Any, **where: Any) -> exchange.Address:
        address = ADDRESS._replace(**where)
        self.write(exchange.pack(value, address), address)
        return address

    def write(self, stored: Any, address: exchange.Address) -> None:
        dag, run, task, key, index = address[:5]
        assert dag is not None
        assert run is not None
        assert task is not None
        assert key is not None
        assert index is not None
        self.rows.xcom(dag, run, task, self.rows.row(stored), key=key, index=index)

    def stored(self, address: exchange.Address) -> Any:
        (row,) = (
            row
            for row in self.database.rows()
            if (row.dag, row.run, row.task, row.key, row.map_index) == address[:5]
        )
        return row.value

    def pull(self, address: exchange.Address) -> Any:
        return exchange.unpack(self.stored(address), asked=address)

    def fields(self, address: exchange.Address) -> dict[str, Any]:
        row = self.stored(address)
        found: dict[str, Any] = json.loads(row) if isinstance(row, bytes) else row
        return found

    def command(self, *words: str) -> int:
        return cli.main(["sign", "--database", self.url, *words])


@pytest.fixture(params=["sqlite", "postgresql"])
def shop(
    request: pytest.FixtureRequest,
    urls: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> Iterator[Shop]:
    yield Shop(monkeypatch, urls[request.param], tmp_path)
    config.forget()
    runtime.forget()


def test_rows_from_before_are_signed_after_a_look_at_each_object(
    shop: Shop, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = [shop.push(f"{n}{LARGE}", task=f"t{n}", map_index=n) for n in range(20)]
    mine = runtime.coordinate("sales", "r1", "extract", "", put_name="features")
    reference = airfreight.Reference.from_json(
        exchange.store(LARGE, mine, ADDRESS._replace(key=None))
    )
    nested = shop.push({"list": [reference, {"deep": reference, "n": 1e22}]}, task="nested")
    small = shop.push({"a": 1}, task="small")
    lost = shop.push(LARGE, task="lost")
    shop.push(LARGE, task="damaged")
    moved = ADDRESS._replace(dag="finance", task="moved")
    shop.write(shop.stored(whole[0]), moved)
    next((shop.store / "sales/r1/lost").rglob("return_value*")).unlink()
    path = next((shop.store / "sales/r1/damaged").rglob("return_value*"))
    path.write_bytes(b"y" + path.read_bytes()[1:])
    shop.set(SIGNING_KEYS=KEY)
    for address in (*whole, lost):
        with pytest.raises(airfreight.ForgedError):
            shop.pull(address)

    assert shop.command("--count") == 0
    assert "25 without a signature" in capsys.readouterr().out
    before = [shop.stored(address) for address in whole]
    assert shop.command() == 1  # A dry run, which finds what is wrong.
    told = capsys.readouterr().out
    assert "22 signatures would be made" in told
    assert "sales/r1/lost[-1] return_value: NotFound" in told
    assert "sales/r1/damaged[-1] return_value: Corrupt" in told
    assert "finance/r1/moved[-1] return_value: Forged" in told
    assert [shop.stored(address) for address in whole] == before

    assert shop.command("--yes", "--json") == 1
    report = json.loads(capsys.readouterr().out)
    assert (report["unsigned"], report["made"], report["signed"]) == (25, 22, 0)
    assert report["failed"] == {"NotFound": 1, "Corrupt": 1, "Forged": 1}
    for n, address in enumerate(whole):
        assert shop.pull(address) == f"{n}{LARGE}"
    back = shop.pull(nested)
    assert airfreight.get(back["list"][0]) == airfreight.get(back["list"][1]["deep"]) == LARGE
    assert back["list"][1]["n"] == 1e22
    assert shop.pull(small) == {"a": 1}
    with pytest.raises(airfreight.ForgedError):
        shop.pull(moved)
    # Once more: nothing is left but what is wrong.
    report = signs.sign(shop.database, write=True)
    assert (report.signed, report.unsigned, report.made) == (22, 3, 0)


def test_a_call_that_ends_is_gone_on_with(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    addresses = [shop.push(f"{n}{LARGE}", task=f"t{n}") for n in range(9)]
    shop.set(SIGNING_KEYS=KEY)
    monkeypatch.setattr(signs, "_BATCH", 3)
    report = signs.Report()

    def stop(report: signs.Report) -> None:
        if report.rows == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        signs.sign(shop.database, write=True, report=report, told=stop)
    assert report.made == 6
    rest = signs.sign(shop.database, write=True, after=report.after)
    assert (rest.rows, rest.made) == (3, 3)
    for n, address in enumerate(addresses):
        assert shop.pull(address) == f"{n}{LARGE}"


def test_a_row_that_is_written_meanwhile_is_left_alone(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = shop.push("old" + LARGE)
    shop.set(SIGNING_KEYS=KEY)
    made = signs._make

    def overtaken(*args: Any, **options: Any) -> None:
        made(*args, **options)
        shop.push("new" + LARGE)

    monkeypatch.setattr(signs, "_make", overtaken)
    report = signs.sign(shop.database, write=True)
    assert (report.made, report.changed) == (0, 1)
    assert shop.pull(address) == "new" + LARGE


def test_rotation_signs_anew_without_the_store(shop: Shop) -> None:
    shop.set(SIGNING_KEYS=KEY)
    address = shop.push(LARGE)
    shop.set(SIGNING_KEYS=f"{OTHER} {KEY}")
    assert signs.sign(shop.database, look=False).older == 1
    away = shop.store.with_name("away")
    shop.store.rename(away)
    report = signs.sign(shop.database, write=True, renew=True)
    away.rename(shop.store)
    assert (report.older, report.made) == (1, 1)
    shop.set(SIGNING_KEYS=OTHER)
    assert shop.pull(address) == LARGE


def test_what_a_stolen_key_has_signed_is_told_and_not_signed_anew(
    shop: Shop, capsys: pytest.CaptureFixture[str]
) -> None:
    third = "k3:" + KEY.partition(":")[2][::-1].lstrip("=") + "="
    planted = shop.push(LARGE, task="k0")
    addresses = {}
    for keys in (KEY, OTHER):
        shop.set(SIGNING_KEYS=keys)
        addresses[keys] = shop.push(keys + LARGE, task=keys[:2])
    shop.set(SIGNING_KEYS=f"{third} {OTHER} {KEY}")
    for wrong, said in (("k9", "which are k3, k2, k1"), ("k3", "that is the key that signs")):
        assert shop.command("--renew", "--yes", "--distrust", wrong) == 1
        assert said in capsys.readouterr().err
    assert shop.command("--renew", "--yes", "--distrust", "k1") == 1
    told = capsys.readouterr().out
    assert "sales/r1/k1[-1] return_value: Forged: it is signed with the key 'k1'" in told
    assert "1 signatures made" in told
    assert shop.fields(addresses[KEY])["sig"].startswith("k1:")
    assert shop.fields(addresses[OTHER])["sig"].startswith("k3:")
    assert "sig" not in shop.fields(planted)
    # Nor is what a key has signed that was taken out.
    shop.set(SIGNING_KEYS=third)
    assert shop.command("--count") == 0
    told = capsys.readouterr().out
    assert "  1 with k1\n  1 with k3\n1 of them with a key that is not trusted here" in told
    report = signs.sign(shop.database, write=True, renew=True)
    assert (report.made, report.distrusted, report.failed) == (0, 1, {"Forged": 1})


def test_a_reference_of_another_dag_inside_of_a_value_is_signed_where_that_is_said(
    shop: Shop,
) -> None:
    other = runtime.coordinate("finance", "r1", "t", "", put_name="features")
    text = exchange.store(LARGE, other, ADDRESS._replace(dag="finance", task="t", key=None))
    address = shop.push([airfreight.Reference.from_json(text)])
    shop.set(SIGNING_KEYS=KEY)
    report = signs.sign(shop.database, write=True)
    assert report.failed == {"Forged": 1}
    assert "--other-dags" in report.problems[0].message
    assert signs.sign(shop.database, write=True, other_dags=True).made == 1
    assert airfreight.get(shop.pull(address)[0]) == LARGE


def test_without_a_key_it_says_so(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    shop.set(SIGNING_KEYS=None)
    assert shop.command() == 1
    assert "there is no key to sign with" in capsys.readouterr().err


def test_the_key_of_one_dag_is_all_that_its_pod_needs(
    shop: Shop, capsys: pytest.CaptureFixture[str]
) -> None:
    shop.set(SIGNING_KEYS=KEY)
    address = shop.push(LARGE)
    assert cli.main(["signing-key", "--dag", "sales"]) == 0
    key = capsys.readouterr().out.strip()
    assert key.startswith("k1@sales:")
    shop.set(SIGNING_KEYS=key)
    assert shop.pull(address) == LARGE
    with pytest.raises(airfreight.InvalidError, match='no key to sign with for the DAG "finance"'):
        exchange.pack(LARGE, ADDRESS._replace(dag="finance"))
