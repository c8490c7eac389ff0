"""What transfers may take of a machine's memory."""
