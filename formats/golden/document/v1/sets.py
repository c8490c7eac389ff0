[{3, 1, 2}, {'b', 'a'}, frozenset(), {(1, 2), None}]
