uuid.UUID('01994a3e-7d0f-7c3e-a5f1-6b1d2c3e4f50')
