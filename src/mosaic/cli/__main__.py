"""`python -m mosaic.cli`, for where the console script is not on the path."""

import sys

from mosaic.cli.main import main

sys.exit(main())
