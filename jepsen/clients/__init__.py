"""Real clients; see crew.py."""

from .crew import CLIENTS, Crew  # noqa: F401
