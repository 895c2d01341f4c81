"""What a fault is.

A fault is made once for each time that it happens, with a source of chance that decides all about
it.

    prepare()   waits for its moment and decides; may take seconds, harms nothing. False: not
                possible now (there is no snapshot to damage, ...)
    begin()     does the harm, at once; returns its parameters for the history, "targets" among them
    tick()      called every TICK_S while it lasts
    end()       takes the harm back, at once; may return more for the history
    recover()   brings back what did not come back by itself, and waits for it

`claims` says what it works with: of two faults at a time no claim is shared. After begin(), the
history gets with its parameters: id, leader (when it began) and majority: whether a majority of
nodes that nothing is wrong with stays connected among itself and with all clients. `majority =
False` in a class says that no such thing is promised whatever the lab believes.
"""

NET, NODES, DISK, CPU, CLOCK, CLIENTS = "net", "nodes", "disk", "cpu", "clock", "clients"
TICK_S = 0.1


class Fault:
    name = ""
    claims = frozenset()
    majority = None  # None: as the lab sees it
    seconds = (5, 15)  # how long it lasts

    def __init__(self, lab, chance, running=None):
        """[running]: the workloads, or None."""
        self.lab, self.chance, self.running = lab, chance, running

    def prepare(self):
        return True

    def begin(self):
        raise NotImplementedError

    def tick(self):
        pass

    def end(self):
        raise NotImplementedError

    def recover(self):
        pass

    # Whom it hits

    def leader(self):
        """The id of the node that was last seen to lead, or None."""
        led = self.lab.watch.led_by
        return led if led is not None and self.lab.is_alive(led) else None

    def victim(self):
        """The leader half of the time, else one of the others."""
        up = self.lab.alive() or self.lab.ids
        leader = self.leader()
        if leader is not None and self.chance.random() < 0.5:
            return leader
        return self.chance.choice([i for i in up if i != leader] or up)

    def victims(self, count):
        """So many, the leader among them half of the time."""
        first = self.victim()
        rest = [i for i in self.lab.ids if i != first]
        self.chance.shuffle(rest)
        return [first, *rest[:count - 1]]

    def minority_size(self):
        return (len(self.lab.ids) - 1) // 2

    def majority_size(self):
        return len(self.lab.ids) // 2 + 1

    def names(self, ids):
        return [self.lab.names[i] for i in ids]

    def between(self, low, high):
        return round(self.chance.uniform(low, high), 3)


class Bringing(Fault):
    """A fault whose targets (ids in self.hit) are to answer again at the end; where one refuses its
    directory, by the documented procedure."""

    recovery_s = 60.0

    def __init__(self, *more):
        super().__init__(*more)
        self.hit = []

    def recover(self):
        for i in self.hit:
            if i not in self.lab.damaged:
                self.lab.run(i)
        for i in self.hit:
            self.lab.wait_back(i, self.recovery_s)
