"""The tables of numbers that tests of the room stand on: orbits of published verifications, and values to many digits."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

DATA = Path(__file__).parent / "data"
MU, RADIUS = 3.986004418e14, 6378137.0
ZONALS = {2: 1.08262668e-3, 3: -2.53265649e-6, 4: -1.61962159e-6, 5: -2.27296083e-7, 6: 5.40681239e-7}
PLACE = np.array([4e6, -3e6, 4.6e6])


def lines(name: str) -> list[dict[str, str]]:
    """Return the rows of a table."""
    with (DATA / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def values(key: str) -> np.ndarray:
    """Return the numbers of a row of space_numbers.csv."""
    (row,) = [row for row in lines("space_numbers.csv") if row["id"] == key]
    words = row["value"].replace(",", " ").replace(";", " ").split()
    return np.array([float(word) for word in words])


def case(name: str) -> dict[float, dict[str, np.ndarray]]:
    """Return of a case of orbit_cases.csv, by time, r, v, w (3) and the rotation R (3×3) from the body's axes to the inertial ones."""
    found = {}
    for row in lines("orbit_cases.csv"):
        if row["case"] == name:
            def several(names: list[str], row: dict[str, str] = row) -> np.ndarray:
                return np.array([float(row[n]) if row[n] else np.nan for n in names])

            T = several([f"T{i}{j}" for i in range(3) for j in range(3)]).reshape(3, 3)
            found[float(row["when"])] = {x: several([f"{x}{k}" for k in "xyz"]) for x in "rvw"} | {"R": T.T}
    return found
