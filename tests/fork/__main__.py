"""`python3 -m tests.fork`."""

import sys

from tests.fork.driver import main

sys.exit(main())
