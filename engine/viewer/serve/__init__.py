"""Robots in a browser, alive: a server of the page, of what moves on it, and of what hands on it do."""

from engine.calls import check_calls
from engine.viewer.serve.server import Server, serve
from engine.viewer.serve.widget import Widget

__all__ = ["Server", "Widget", "serve"]

check_calls(__name__)
