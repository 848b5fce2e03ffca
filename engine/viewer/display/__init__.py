"""The display that lies flat over a picture: readings of a robot, and the panels that show them."""

from engine.viewer.display.facts import Card, Facts, Plot
from engine.viewer.display.hud import Hud
from engine.viewer.display.readings import Readings

__all__ = ["Card", "Facts", "Hud", "Plot", "Readings"]
