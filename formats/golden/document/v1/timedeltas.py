[datetime.timedelta(days=1000000, microseconds=1), datetime.timedelta(microseconds=-1)]
