"""What a verb returns: records, and where they came from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    import pandas
    import polars
    from matplotlib.figure import Figure

Value = str | int | float | bool | None
Record = dict[str, Value]
SCHEMA = "hotlink/1"


@dataclass(frozen=True)
class Result(Sequence[Record]):
    """The records of one command, in order; each a flat dictionary whose keys carry units."""

    records: list[Record]
    command: list[str] = field(default_factory=list)
    environment: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_json(cls, text: str) -> Result:
        """Read what ``--json`` prints."""
        document = json.loads(text)
        if not isinstance(document, dict) or document.get("schema") != SCHEMA:
            raise ValueError(f"not a hotlink result: no object with schema {SCHEMA!r}")
        return cls(document["records"], document.get("command", []), document.get("environment", {}))

    @classmethod
    def load(cls, file: str | PathLike[str]) -> Result:
        """Read a result file."""
        return cls.from_json(Path(file).read_text(encoding="utf-8"))

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: slice) -> list[Record]: ...
    def __getitem__(self, index: int | slice) -> Record | list[Record]:
        """One record, or a list of them."""
        return self.records[index]

    def __len__(self) -> int:
        """Count the records."""
        return len(self.records)

    def __iter__(self) -> Iterator[Record]:
        """Go through the records."""
        return iter(self.records)

    def where(self, **values: Value) -> Result:
        """Keep the records that have these values: ``result.where(fabric="sci-ring", method="load")``."""
        kept = [record for record in self.records if all(record.get(key) == value for key, value in values.items())]
        return Result(kept, self.command, self.environment)

    def columns(self) -> dict[str, list[Value]]:
        """Every key of any record as a column; what a record lacks is None."""
        keys = dict.fromkeys(key for record in self.records for key in record)
        return {key: [record.get(key) for record in self.records] for key in keys}

    def to_polars(self) -> polars.DataFrame:
        """As a Polars data frame (``pip install hotlink[polars]``)."""
        import polars

        return polars.DataFrame(self.columns(), strict=False)

    def to_pandas(self) -> pandas.DataFrame:
        """As a pandas data frame (``pip install hotlink[pandas]``)."""
        import pandas

        return pandas.DataFrame(self.columns())

    def to_parquet(self, file: str | PathLike[str]) -> None:
        """Write a Parquet file, the command and the environment in its metadata (``pip install hotlink[polars]``)."""
        about = {"schema": SCHEMA, "command": json.dumps(self.command), "environment": json.dumps(self.environment)}
        partial = Path(f"{fspath(file)}.partial")
        self.to_polars().write_parquet(partial, metadata={f"hotlink.{key}": value for key, value in about.items()})
        partial.rename(file)

    def plot(self, quantity: str = "bandwidth") -> Figure:
        """Draw one quantity against nodes: ``bandwidth``, ``cost`` or ``cost-per-MBps`` (``hotlink[plot]``)."""
        from hotlink import plot

        return plot.draw(self.records, quantity)

    def curves(self, *y: str, x: str | None = None) -> Figure:
        """Draw what was measured or simulated against what was swept, as ``hotlink plot`` does (``hotlink[plot]``)."""
        from hotlink import curves

        return curves.draw(self.records, x, y)

    def save_plots(self, folder: str | PathLike[str]) -> list[Path]:
        """Write every plot that the records allow into ``folder`` as PNG and SVG; returns the files."""
        from hotlink import plot

        return plot.save(self.records, Path(folder))
