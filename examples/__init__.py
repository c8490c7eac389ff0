"""DAGs to try, and the demo that runs one."""
