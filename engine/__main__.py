"""``python -m engine`` is the command ``engine``."""

import sys

from engine.cli import main

sys.exit(main())
