"""Where the verbs have Airflow's rows from: its database, or its API."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from airfreight.admin.rows import Source


def add(verb: argparse.ArgumentParser) -> None:
    """Adds the options to a verb."""
    verb.add_argument(
        "--via",
        choices=("db", "api"),
        default="db",
        help="where Airflow's rows are read: db is its database; api is its public REST API, where "
        "there is no way to the database, as in the tasks of Airflow 3: Airflow 3.3, and a user "
        "who may read all DAGs. Slower: a request for each row. Default db",
    )
    verb.add_argument("--database", metavar="URL", help="in place of [database] sql_alchemy_conn")
    verb.add_argument(
        "--api-url",
        metavar="URL",
        help="with --via api: in place of [api] base_url, e.g. https://airflow.example.com",
    )
    verb.add_argument(
        "--api-token-file",
        type=Path,
        metavar="FILE",
        help="with --via api: holds the user's token (what POST /auth/token answers), and is read "
        "again when one expires. Without it and --api-token-cmd: AIRFREIGHT_API_TOKEN of the "
        "environment, or AIRFLOW_CLI_TOKEN",
    )
    verb.add_argument(
        "--api-token-cmd",
        default="",
        metavar="COMMAND",
        help="with --via api: prints the token; it is run without a shell, again when one expires",
    )


def find(asked: argparse.Namespace) -> Source:
    """What the options name, opened.

    Raises:
        ConfigError: they are at odds with each other; and what `connect` of each raises.
    """
    from airfreight.errors import ConfigError

    given = [
        option
        for option, value in (
            ("--api-url", asked.api_url),
            ("--api-token-file", asked.api_token_file),
            ("--api-token-cmd", asked.api_token_cmd),
        )
        if value
    ]
    if asked.via == "api":
        if asked.database:
            raise ConfigError("--database is for --via db; with --via api give --api-url")
        from airfreight.admin import api, api_client

        return api.connect(
            asked.api_url,
            api_client.Token(asked.api_token_file, asked.api_token_cmd),
            warn=lambda text: print(f"warning: {text}", file=sys.stderr),
        )
    if given:
        raise ConfigError(f"{given[0]} is for --via api, which is not given")
    from airfreight.admin import database

    return database.connect(asked.database)
