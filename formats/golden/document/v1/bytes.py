[b'', b'\x00\xff', bytearray(b'abc')]
