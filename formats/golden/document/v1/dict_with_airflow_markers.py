{'__classname__': 'os.system', '__version__': 1, '__data__': 'x'}
