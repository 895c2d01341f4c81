"""Clients that come, go, die and stand still; the workloads know how."""

from nemesis.base import CLIENTS, TICK_S, Fault


class ClientFault(Fault):
    claims = frozenset({CLIENTS})

    def prepare(self):
        return self.running is not None and bool(self.running.members())

    def end(self):
        pass


class Churn(ClientFault):
    name = "client-churn"

    def begin(self):
        self.period_s, self.wait_s, self.count = self.between(0.5, 2), 0.0, 0
        return {"targets": [], "period_s": self.period_s}

    def tick(self):
        self.wait_s -= TICK_S
        if self.wait_s <= 0:
            self.wait_s = self.period_s
            self.running.churn()
            self.count += 1

    def end(self):
        return {"changes": self.count}


class Kill(ClientFault):
    name = "client-kill"
    seconds = (1, 3)

    def begin(self):
        return {"targets": [], "members": [self.running.kill()]}


class Pause(ClientFault):
    """Shorter than a session, or longer: then it comes back as a zombie."""
    name = "client-pause"
    seconds = (1, 15)

    def begin(self):
        members = self.running.members()
        self.chance.shuffle(members)
        self.members = members[:self.chance.choice((1, 1, 3))]
        for member in self.members:
            self.running.pause(member)
        return {"targets": [], "members": self.members}

    def end(self):
        for member in self.members:
            self.running.resume(member)


FAULTS = [Churn, Kill, Pause]
