"""What a member of a classic group does about an answer: the state machine of the witness, pure.

    outside --join ok--> joined --sync ok--> settled
       ^                    |                   |
       +---- an answer that says otherwise -----+

A member that is told that it is unknown begins anew with an empty id; one whose generation has
passed or whose group rebalances joins again under its id; one that cannot reach the coordinator
looks for it and goes on as it was, since its group may not have noticed.
"""

import enum

from groups import (FENCED_INSTANCE_ID, ILLEGAL_GENERATION, MEMBER_ID_REQUIRED, NONE,
                    REBALANCE_IN_PROGRESS, UNKNOWN_MEMBER_ID)

LOADING, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR, REQUEST_TIMED_OUT = 14, 15, 16, 7
NO_GENERATION = -1


class Next(enum.Enum):
    GO_ON = "go on"
    JOIN = "join"  # under the present id
    FIND = "find"  # look for the coordinator, then repeat
    RETRY = "retry"  # the same coordinator, a little later
    STOP = "stop"  # another has this instance id, or the request is refused for good


ANSWERS = {
    NONE: Next.GO_ON,
    MEMBER_ID_REQUIRED: Next.JOIN,
    REBALANCE_IN_PROGRESS: Next.JOIN,
    ILLEGAL_GENERATION: Next.JOIN,
    UNKNOWN_MEMBER_ID: Next.JOIN,
    FENCED_INSTANCE_ID: Next.STOP,
    LOADING: Next.RETRY,
    REQUEST_TIMED_OUT: Next.RETRY,
    COORDINATOR_NOT_AVAILABLE: Next.FIND,
    NOT_COORDINATOR: Next.FIND,
    "timeout": Next.FIND,
    "closed": Next.FIND,
    "refused": Next.FIND,
    "garbled": Next.FIND,
}


class Standing:
    """Who a member is to its group."""

    def __init__(self, instance=None):
        self.instance = instance
        self.id, self.generation = "", NO_GENERATION
        self.is_settled = False  # has its assignment and was told nothing else since
        self.owned = frozenset()

    def identity(self):
        return self.generation, self.id, self.instance

    def joined(self, generation, member):
        self.generation, self.id = generation, member

    def synced(self, owned):
        self.owned, self.is_settled = frozenset(owned), True

    def hear(self, error):
        """The answer to any request but those two; what to do next."""
        action = ANSWERS.get(error, Next.STOP)
        if action in (Next.JOIN, Next.STOP):
            self.is_settled = False
        if error in (UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID):
            self.id, self.generation, self.owned = "", NO_GENERATION, frozenset()
        return action

    def named(self, member):
        """The coordinator has given it an id, to join with."""
        self.id = member
