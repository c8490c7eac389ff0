"""What Airfreight is measured against: other backends, and the work that all of them do."""
