{1: 'int', '1': 'str', None: 'none', (1, 'a'): 'tuple', 2.5: 'float', True and b'k': 'bytes'}
