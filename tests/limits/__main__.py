"""`python3 -m tests.limits`."""

import sys

from tests.limits.memory import main

sys.exit(main())
