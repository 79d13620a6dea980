"""How fast is a cluster's interconnect, how fast should it be, what holds it back, and what does it cost.

>>> import hotlink
>>> result = hotlink.compare(["sci-ring", "myrinet-clos64"], nodes=range(2, 129))
>>> result.plot("bandwidth")  # doctest: +SKIP

Messages between ranks, on numpy arrays: see `run` and `Comm`.
"""

from hotlink._core import (
    ANY_SOURCE,
    ANY_TAG,
    Comm,
    CommError,
    InputError,
    PeerGoneError,
    Request,
    Status,
    TruncatedError,
    __version__,
    wait_all,
    wait_any,
)
from hotlink.api import run
from hotlink.commands import (
    calibrate,
    compare_commands,
    compare_runs,
    diagnose,
    import_results,
    measure,
    report,
    reproduce,
    simulate_jobs,
    simulate_region,
    simulate_schedule,
)
from hotlink.designs import design
from hotlink.questions import analyze, compare, simulate
from hotlink.ranks import RankError
from hotlink.result import Record, Result
from hotlink.site import SiteFabric, load_fabric
from hotlink.sweeps import sweep

__all__ = [
    "ANY_SOURCE",
    "ANY_TAG",
    "Comm",
    "CommError",
    "InputError",
    "PeerGoneError",
    "RankError",
    "Record",
    "Request",
    "Result",
    "SiteFabric",
    "Status",
    "TruncatedError",
    "__version__",
    "analyze",
    "calibrate",
    "compare",
    "compare_commands",
    "compare_runs",
    "design",
    "diagnose",
    "import_results",
    "load_fabric",
    "measure",
    "report",
    "reproduce",
    "run",
    "simulate",
    "simulate_jobs",
    "simulate_region",
    "simulate_schedule",
    "sweep",
    "wait_all",
    "wait_any",
]
