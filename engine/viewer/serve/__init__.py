"""Robots in a browser, alive: a server of the page, of what moves on it, and of what hands on it do."""

from engine.viewer.serve.server import Server, serve

__all__ = ["Server", "serve"]
