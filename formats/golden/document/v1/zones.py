[datetime.timezone.utc, datetime.timezone(datetime.timedelta(hours=1)), zoneinfo.ZoneInfo('America/New_York')]
