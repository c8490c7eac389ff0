[{'__type': 'set', '__var': [1]}]
