collections.OrderedDict([('b', 1), ('a', 2)])
