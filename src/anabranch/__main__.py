"""`python -m anabranch` is the `anabranch` command."""

import sys

from anabranch.cli.main import main

sys.exit(main())
