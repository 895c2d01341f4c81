"""W8: real clients that process a fake feed and commit, in groups of one kind and in a mixed one.

Seats are filled for as long as the run lasts: where a program was killed, another takes its seat a
little later, under a new name.
"""

import collections
import itertools
import random
import threading
import time

from .kinds import KINDS, prepare
from .program import Program

MEMBERS = 3  # of a group of one kind
MIXED = "w8-mixed"
TOPICS = "w8"
PACE_MS = 200
BACK_S = (0.5, 4.0)  # a seat is empty for so long


class Seat:
    """[groups]: one for each consumer of its program."""

    def __init__(self, kind, groups, place):
        self.kind, self.groups, self.place = kind, groups, place
        self.program = None
        self.due = 0.0  # when it is to be filled


class Crew:
    """[nodes]: {"n1": (host, port)}. [command](place, argv) runs a program in a place."""

    def __init__(self, clerk, nodes, places, command, settings, names, seed, out):
        self.clerk, self.nodes, self.command, self.settings = clerk, nodes, command, settings
        self.kinds = [KINDS[name] for name in names]
        self.chance, self.out = random.Random(f"{seed}/crew"), out
        self.numbers = collections.defaultdict(lambda: itertools.count(1))
        self.seats, self.is_calm, self.programs = [], False, []
        self.stopped, self.lock = threading.Event(), threading.RLock()
        self.keeper = threading.Thread(target=self._keep, daemon=True)
        self._lay_out(places)

    def _lay_out(self, places):
        turn = itertools.cycle(places)
        for kind in self.kinds:
            own = [f"w8-{kind.name}"] * MEMBERS
            mixed = [MIXED] if len(self.kinds) > 1 else []
            if kind.is_shared:
                self.seats.append(Seat(kind, own + mixed, next(turn)))
            else:
                self.seats += [Seat(kind, [group], next(turn)) for group in own + mixed]

    def groups(self):
        return sorted({group for seat in self.seats for group in seat.groups})

    def start(self):
        prepare([kind.name for kind in self.kinds])
        self.out.mkdir(parents=True, exist_ok=True)
        with self.lock:
            for seat in self.seats:
                self._fill(seat)
        self.keeper.start()

    def _fill(self, seat):
        kind = seat.kind.name
        names = [f"{kind}-{next(self.numbers[kind])}" for _ in seat.groups]
        groups = dict(zip(names, seat.groups))
        consumers = [f"{name}:{group}:{'range' if group == MIXED else ''}"
                     for name, group in groups.items()]
        session_ms = self.settings.session_ms
        options = {
            "bootstrap": ",".join(f"{host}:{port}" for host, port in self.nodes.values()),
            "clients": ",".join(consumers if seat.kind.is_shared else names),
            "group": seat.groups[0],
            "topics": TOPICS,
            "assignor": "range" if seat.groups[0] == MIXED else "",
            "session_ms": session_ms, "rebalance_ms": session_ms,
            "heartbeat_ms": session_ms // 4,
            "pace_ms": PACE_MS,
            "seed": self.chance.randrange(1 << 30),
        }
        argv = seat.kind.command + [f"{name}={value}" for name, value in options.items()]
        seat.program = Program(self.clerk, kind, names, groups, self.command(seat.place, argv),
                               self.out / f"{names[0]}.log").start()
        self.programs.append(seat.program)

    def _keep(self):
        """Fills empty seats."""
        while not self.stopped.wait(0.2):
            with self.lock:
                for seat in self.seats:
                    if seat.program.is_alive():
                        seat.due = 0.0
                    elif not seat.due:
                        seat.due = time.monotonic() + self.chance.uniform(*BACK_S)
                    elif time.monotonic() >= seat.due:
                        self._fill(seat)

    # Nemeses: a program goes by the name of its first consumer

    def names(self):
        with self.lock:
            return [seat.program.name for seat in self.seats if seat.program.is_alive()]

    def _program(self, name):
        with self.lock:
            return next((seat.program for seat in self.seats
                         if seat.program.name == name), None)

    def _tell(self, name, what):
        program = self._program(name)
        if program is not None and program.is_alive():
            getattr(program, what)()

    def pause(self, name):
        self._tell(name, "pause")

    def resume(self, name):
        self._tell(name, "resume")

    def kill(self, name):
        self._tell(name, "kill")

    def churn(self):
        """One program leaves in good order; its seat is filled again."""
        names = self.names()
        if names and not self.is_calm:
            name = self.chance.choice(names)
            threading.Thread(target=self._tell, args=(name, "close"), daemon=True).start()
            return name
        return None

    def calm(self):
        self.is_calm = True
        for name in self.names():
            self.resume(name)

    def libraries(self):
        return sorted({seat.program.library for seat in self.seats if seat.program.library})

    def failures(self):
        """Faults of ours in reading what programs say."""
        return [program.failure for program in self.programs if program.failure is not None]

    def stop(self):
        self.stopped.set()
        self.keeper.join()
        for seat in self.seats:
            if seat.program.is_alive():
                seat.program.kill()
