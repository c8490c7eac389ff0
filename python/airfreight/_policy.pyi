"""The text of the policy. The extension's sources: python/bindings/policy."""

from typing import Any

def parse(
    text: str, source: str, /
) -> tuple[
    list[str],
    dict[str, tuple[str, dict[str, str]]],
    list[tuple[str, str]],
    dict[str, int],
    Any,
    bool,
]: ...
def find(
    rules: Any, dag: str, task: str, key: str, type: str, size: int, /
) -> tuple[str, int, dict[str, str], dict[str, int]] | None: ...
def setting(name: str, text: str, /) -> tuple[str | None, str]: ...
def rules(
    rules: Any, /
) -> list[tuple[str, int, dict[str, list[str]], dict[str, str], dict[str, int]]]: ...
def nearest(name: str, known: list[str], /) -> str: ...
