"""What Airflow's rows hold and what they mean: `pack` on a push, `unpack` on a pull, `purge`."""

from __future__ import annotations

from airfreight.exchange.address import Address, name_place, new_write_id
from airfreight.exchange.pull import (
    Wanted,
    check_row,
    decode,
    fetch,
    follow,
    needs_core,
    ours,
    purge,
    row_of,
    save,
    unpack,
    unpack_many,
    wanted,
)
from airfreight.exchange.push import (
    open_writer,
    pack,
    store,
    store_many,
    under_rule,
    with_core,
)
from airfreight.exchange.serde import ROWS_ARE_BYTES, SERDE_TYPE, BaseXCom

__all__ = [
    "ROWS_ARE_BYTES",
    "SERDE_TYPE",
    "Address",
    "BaseXCom",
    "Wanted",
    "check_row",
    "decode",
    "fetch",
    "follow",
    "name_place",
    "needs_core",
    "new_write_id",
    "open_writer",
    "ours",
    "pack",
    "purge",
    "row_of",
    "save",
    "store",
    "store_many",
    "under_rule",
    "unpack",
    "unpack_many",
    "wanted",
    "with_core",
]
