"""Whether a cluster can be expected to work: pure functions over what is wrong with it."""

import itertools


def majority(nodes):
    return len(nodes) // 2 + 1


def core(nodes, is_healthy, is_clear):
    """The largest set of healthy nodes each two of which are connected without loss, both ways; []
    if it is no majority. Where there is one, the cluster has no excuse."""
    fit = [node for node in nodes if is_healthy(node)]
    for size in range(len(fit), majority(nodes) - 1, -1):
        for some in itertools.combinations(fit, size):
            if all(is_clear(a, b) for a, b in itertools.combinations(some, 2)):
                return list(some)
    return []
