"""Contacts of many bodies, as tables: what is done to each body, pair and point is traced once, of as many as there are.

The order of a step: :mod:`near` (broad phase), :mod:`manifolds` (narrow phase, and the table of points), :mod:`islands`, :mod:`problem`
(impulses of the points by the velocity, with their Jacobian), :mod:`newton` (the velocity after the step).
"""
