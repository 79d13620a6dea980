"""The cheapest of some networks that gives each of 512 nodes a wanted bandwidth in an all-to-all."""

import hotlink

NODES, WANTED_MBPS = 512, 20_000
CANDIDATES = ["ib-ndr-fat-tree2", "ib-ndr-fat-tree2:oversubscription=2", "eth-400g-leaf-spine", "slingshot-dragonfly"]

rows = [row for row in hotlink.compare(CANDIDATES, nodes=[NODES]) if row["kind"] == "fabric"]
for row in rows:
    print(f"{row['fabric']:36} {row['bandwidth_per_node_MBps']:8.0f} MB/s  {row['cost_USD']:10.0f} USD")
enough = [row for row in rows if row["bandwidth_per_node_MBps"] >= WANTED_MBPS]
print("choose", min(enough, key=lambda row: row["cost_USD"])["fabric"])
