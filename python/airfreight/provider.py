"""What Airflow is told of this package, through the entry point `apache_airflow_provider`."""

from __future__ import annotations

from typing import Any

from airfreight._settings_table import OPTIONS, SECTION

# The kinds of the parser, in the words of Airflow's provider_info.schema.json.
_KINDS = {"string": "string", "integer": "integer", "number": "float", "boolean": "boolean"}


def get_provider_info() -> dict[str, Any]:
    """Returns the provider's description; the section makes `airflow config list` document us."""
    options = {
        option.name: {
            "description": f"{option.description}\n",
            "version_added": "0.1.0",
            "type": _KINDS[option.kind],
            "example": option.example,
            "default": option.default,
            **({"sensitive": True} if option.secret else {}),
        }
        for option in OPTIONS
    }
    return {
        "package-name": "airfreight",
        "name": "Airfreight",
        "description": "XCom backend: values in object storage in their own format, references "
        "in the row.",
        "config": {
            SECTION: {
                "description": (
                    "Options of the XCom backend airfreight.XComBackend "
                    "(AIRFLOW__CORE__XCOM_BACKEND=airfreight.XComBackend)."
                ),
                "options": options,
            }
        },
    }
