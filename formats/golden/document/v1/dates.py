[datetime.date(1, 1, 1), datetime.date(9999, 12, 31)]
