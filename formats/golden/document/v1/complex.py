[1j, complex(float('nan'), -0.0), 1.5 - 2j]
