"""How fast is a cluster's interconnect, how fast should it be, what holds it back, and what does it cost.

>>> import hotlink
>>> result = hotlink.compare(["sci-ring", "myrinet-clos64"], nodes=range(2, 129))
>>> result.plot("bandwidth")  # doctest: +SKIP
"""

from hotlink._core import InputError, __version__
from hotlink.api import analyze, compare, run
from hotlink.result import Record, Result
from hotlink.sweeps import sweep

__all__ = ["InputError", "Record", "Result", "__version__", "analyze", "compare", "run", "sweep"]
