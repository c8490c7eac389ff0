"""What the verbs of the command `airfreight` do for an administrator; no task imports it."""
