"""Where nodes and clients live: namespaces, the network, disks, clocks, processes (lab.py)."""
