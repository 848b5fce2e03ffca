"""Sources and sinks of a loop over rows: where its rows are read from, and whether results are stored, summed or added to a table."""

from __future__ import annotations

from dataclasses import dataclass

from engine.compiler.graph.program import COUNTED, Shape


@dataclass(frozen=True)
class Source:
    """Source of a loop's rows: what its function is given of each row from its input ``place`` on. That is the ``columns`` of a table's
    "rows", of rows "through" the loop's table of numbers of that ``index``, or the "numbers" of rows, of a table of ``counted`` columns."""

    how: str
    place: int
    columns: int
    index: int = -1
    counted: int = 1

    @property
    def shape(self) -> Shape:
        """The shape of the table."""
        return COUNTED, self.counted if self.how == "numbers" else self.columns


@dataclass(frozen=True)
class Sink:
    """Destination of a function's results: "rows" of a table, the "sum" of them, rows of a table that others are "added" to (``several``
    times a row's number and what is added there), the rows that are "chosen" by a truth before them, or a table that whole "tables" are
    added to."""

    how: str
    columns: int
    several: int = 1

    @property
    def results(self) -> int:
        """Number of the function's results that the sink takes."""
        return 1 if self.how == "tables" else self.several * (self.columns + (self.how in ("added", "chosen")))

    @property
    def adds(self) -> bool:
        """True if the sink adds to a table that is given."""
        return self.how in ("added", "tables")

    @property
    def shapes(self) -> list[Shape]:
        """Shapes of the loop's results that the sink makes."""
        return [()] * self.columns if self.how == "sum" else [(COUNTED, self.columns)]
