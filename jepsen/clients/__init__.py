"""Real clients; README.md."""

from .crew import Crew  # noqa: F401
from .kinds import KINDS, install  # noqa: F401
