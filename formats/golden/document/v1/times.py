[datetime.time(12, 30), datetime.time(23, 59, 59, 999999, tzinfo=datetime.timezone.utc), datetime.time(1, 30, fold=1)]
