"""Real clients; README.md."""

from .crew import Crew  # noqa: F401
from .kinds import KINDS, prepare  # noqa: F401
