"""``python -m weatherproof``."""

import sys

from .cli.main import main

sys.exit(main())
