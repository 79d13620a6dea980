"""The result of a verb: records, and their source."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from hotlink import _core

if TYPE_CHECKING:
    import pandas
    import polars
    from matplotlib.figure import Figure

    from hotlink.curves import Panels

Value = str | int | float | bool | None
Record = dict[str, Value]
SCHEMA = "hotlink/2"


# What a notebook's table shows, and of how many records.
_SHOWN = (
    "study",
    "id",
    "kind",
    "fabric",
    "benchmark",
    "traffic",
    "method",
    "nodes",
    "ranks",
    "size_B",
    "algorithm",
    "direction",
    "parameter",
    "resource",
    "quantity",
    "value",
    "published",
    "reproduced",
    "unit",
    "verdict",
    "latency_us",
    "bandwidth_MBps",
    "bandwidth_per_node_MBps",
    "messages_per_s",
    "time_s",
    "efficiency",
    "injection_share",
    "limiting_resource",
    "note",
    "error",
)
_ROWS = 50
_VALUES = ("latency_us", "bandwidth_per_node_MBps", "bandwidth_MBps", "messages_per_s", "time_s")


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else "" if value is None else str(value)


def _few(values: Sequence[Value]) -> str:
    named = ", ".join(_short(value) for value in values[:3])
    return named if len(values) <= 3 else f"{named} and {len(values) - 3} more"


def _values(records: Sequence[Record]) -> str:
    """The first quantity that the records have: one value, or from the least to the greatest."""
    for key in _VALUES:
        numbers = [value for record in records if isinstance(value := record.get(key), int | float)]
        if numbers:
            least, most = min(numbers), max(numbers)
            return f"{key}={_short(least)}" if least == most else f"{key}={_short(least)} to {_short(most)}"
    return ""


def _kind(value: object) -> type:
    return float if isinstance(value, int) and not isinstance(value, bool) else type(value)


def _are_mixed(values: Sequence[object]) -> bool:
    """Whether values are of several kinds, which no column of a data frame holds: a list here, a number there."""
    return len({_kind(value) for value in values if value is not None}) > 1


def _document(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _is_todays(document: dict[str, Any]) -> bool:
    records = document.get("records")
    if document.get("schema") != SCHEMA or not isinstance(records, list):
        return False
    return all(isinstance(record, dict) for record in records)


@dataclass(frozen=True, repr=False)
class Result(Sequence[Record]):
    """The records of one command, in order; each a flat dictionary whose keys carry units."""

    records: list[Record]
    command: list[str] = field(default_factory=list)
    environment: dict[str, Any] = field(default_factory=dict)
    incomplete: str | None = None
    """Why records are missing, if any are."""

    @classmethod
    def from_json(cls, text: str) -> Result:
        """Read what ``--json`` prints, or an earlier version printed: its keys and words become today's.

        Raises `InputError` where it is no result.
        """
        # The reader of all the command's results reports files that are no result.
        if not _is_todays(document := _document(text)):
            document = json.loads(_core.of_today(text))
        about = document.get("command", []), document.get("environment", {}), document.get("incomplete")
        return cls(document["records"], *about)

    @classmethod
    def load(cls, file: str | PathLike[str]) -> Result:
        """Read a result file of any form that ``hotlink plot`` reads. Raises `InputError` where it is none.

        JSON lines, CSV, Markdown and OSU's form hold no command and no environment. A Parquet file of `to_parquet`
        is read too (``pip install polars``).
        """
        name = fspath(file)
        if Path(file).suffix == ".parquet":
            return cls._of_parquet(name)
        try:
            text = Path(file).read_text(encoding="utf-8")
        except OSError as error:
            raise _core.InputError(f"{name}: cannot be read: {error.strerror}") from None
        except ValueError as error:
            raise _core.InputError(f"{name}: is no text: {error}") from None
        if Path(file).suffix in (".jsonl", ".csv", ".md") or text.startswith("# OSU "):
            return cls(json.loads(_core.records_of(name, text)))
        try:
            return cls.from_json(text)
        except _core.InputError as error:
            raise _core.InputError(f"{name}: is no result as --json writes it: {error}") from None

    @classmethod
    def _of_parquet(cls, name: str) -> Result:
        import polars

        try:
            frame = polars.read_parquet(name, hive_partitioning=False)
            about = polars.read_parquet_metadata(name)
        except OSError as error:
            raise _core.InputError(f"{name}: cannot be read: {error.strerror or error}") from None
        except polars.exceptions.ComputeError as error:
            raise _core.InputError(f"{name}: is no Parquet file: {error}") from None
        if "hotlink.command" not in about:
            raise _core.InputError(f"{name}: is no Parquet file of Result.to_parquet")
        texts = json.loads(about.get("hotlink.as_json", "[]"))
        known = [{key: value for key, value in record.items() if value is not None} for record in frame.to_dicts()]
        records = [{key: json.loads(value) if key in texts else value for key, value in one.items()} for one in known]
        command, environment = json.loads(about["hotlink.command"]), json.loads(about["hotlink.environment"])
        return cls(records, command, environment, about.get("hotlink.incomplete"))

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

    def __repr__(self) -> str:
        """A line: the number of records, their subject, and their columns."""
        what = f"{len(self.records)} record" + ("" if len(self.records) == 1 else "s")
        names = [name for name in ("study", "benchmark", "traffic", "fabric", "method") if self._distinct(name)]
        held = ", ".join(f"{name}={_few(self._distinct(name))}" for name in names)
        values = _values(self.records)
        return f"<hotlink.Result: {what}{': ' if held else ''}{held}{'; ' + values if values else ''}>"

    def _repr_html_(self) -> str:
        """A table of the first records, for notebooks: the differences between them, and the values."""
        shown = self.records[:_ROWS]
        keys = [key for key in _SHOWN if any(record.get(key) is not None for record in shown)]
        head = "".join(f"<th>{escape(key)}</th>" for key in keys)
        rows = "".join(
            "<tr>" + "".join(f"<td>{escape(_short(record.get(key)))}</td>" for key in keys) + "</tr>"
            for record in shown
        )
        more = len(self.records) - len(shown)
        note = f"<p>and {more} more records</p>" if more > 0 else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{note}"

    def _distinct(self, key: str) -> list[Value]:
        return list(dict.fromkeys(record[key] for record in self.records if record.get(key) is not None))

    def where(self, **values: Value) -> Result:
        """Keep the records that have these values: ``result.where(fabric="sci-ring", method="load")``.

        Raises `InputError` for a key that no record has.
        """
        unknown = [key for key in values if self.records and not any(key in record for record in self.records)]
        if unknown:
            keys = ", ".join(sorted({key for record in self.records for key in record}))
            raise _core.InputError(f"no record has {', '.join(unknown)} (allowed: {keys})")
        kept = [record for record in self.records if all(record.get(key) == value for key, value in values.items())]
        return Result(kept, self.command, self.environment, self.incomplete)

    def columns(self) -> dict[str, list[Value]]:
        """Every key of any record as a column; what a record lacks is None."""
        keys = dict.fromkeys(key for record in self.records for key in record)
        return {key: [record.get(key) for record in self.records] for key in keys}

    def to_polars(self) -> polars.DataFrame:
        """As a Polars data frame (``pip install polars``)."""
        import polars

        return polars.DataFrame(self.columns(), strict=False)

    def to_pandas(self) -> pandas.DataFrame:
        """As a pandas data frame (``pip install pandas``)."""
        import pandas

        return pandas.DataFrame(self.columns())

    def to_parquet(self, file: str | PathLike[str]) -> None:
        """Write a Parquet file, the command and the environment in its metadata (``pip install polars``).

        A key whose values are of several kinds is a column of JSON texts, listed in the metadata as
        ``hotlink.as_json``. `Result.load` reads the file back.
        """
        import polars

        about = {"schema": SCHEMA, "command": json.dumps(self.command), "environment": json.dumps(self.environment)}
        if self.incomplete is not None:
            about["incomplete"] = self.incomplete
        columns = self.columns()
        mixed = [key for key, values in columns.items() if _are_mixed(values)]
        for key in mixed:
            columns[key] = [None if value is None else json.dumps(value) for value in columns[key]]
        about["as_json"] = json.dumps(mixed)
        partial = Path(f"{fspath(file)}.partial")
        frame = polars.DataFrame(columns, strict=False)
        frame.write_parquet(partial, metadata={f"hotlink.{key}": value for key, value in about.items()})
        partial.rename(file)

    def plot(self, quantity: str | None = None) -> Figure:
        """Draw the result (needs matplotlib).

        A comparison or analysis is drawn against nodes: ``quantity`` is ``bandwidth`` (the usual), ``cost`` or
        ``cost-per-MBps``. Benchmarks are drawn against what was swept, as by `curves`; ``quantity`` is then a key of
        their records. A design is drawn as cost against what each node gets, a study as reproduced over published.
        Raises ValueError where there is nothing to draw.
        """
        if any(record.get("benchmark") == "design" for record in self.records):
            from hotlink import front

            return front.draw(self.records)
        if any("verdict" in record and "study" in record for record in self.records):
            from hotlink import claims

            return claims.draw(self.records)
        if any("benchmark" in record for record in self.records):
            return self.curves(*([] if quantity is None else [quantity]))
        from hotlink import plot

        return plot.draw(self.records, quantity or "bandwidth")

    def curves(
        self,
        *y: str,
        x: str | None = None,
        title: str | None = None,
        notes: Iterable[str] = (),
        panels: Panels = "auto",
    ) -> Figure:
        """Draw what was measured or simulated against what was swept, as ``hotlink plot`` does (needs matplotlib).

        ``notes`` stand below the picture. ``panels`` is ``one`` chart for all lines, ``each`` with its own, or
        ``auto``: each where lines are many or hide each other.
        """
        from hotlink import curves

        return curves.draw(self.records, x, y, None, curves.Look(title, tuple(notes), panels))

    def save_plots(self, folder: str | PathLike[str]) -> list[Path]:
        """Write every plot that the records allow into ``folder`` as PNG and SVG; returns the files."""
        from hotlink import plot

        return plot.save(self.records, Path(folder))
