"""One hypothesis profile for all machines: no deadline, because a busy CI machine is not a slow function."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("hostprep", deadline=None, print_blob=True, derandomize="CI" in os.environ)
settings.load_profile("hostprep")
