"""What happens to transfers when their process forks."""
