"""`python -m fedrand`."""

import sys

from fedrand.cli import main

sys.exit(main())
