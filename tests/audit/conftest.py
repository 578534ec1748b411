"""Lets the audit's own modules be imported by name, whichever way pytest is started."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
