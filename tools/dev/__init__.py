"""What `./dev <verb>` does; one module per concern, only the standard library."""
