[decimal.Decimal('1.10'), decimal.Decimal('0.1234567890123456789012345'), decimal.Decimal('-0'), decimal.Decimal('NaN'), decimal.Decimal('Infinity'), decimal.Decimal('1E+5')]
