[float('nan'), float('inf'), float('-inf'), -0.0, 1e16, -1e+22, 1.7976931348623157e308]
