"""Bodies and grounds of the tests of contacts."""

import numpy as np

import engine
from engine.model import Geometry
from engine.spatial import inertia

#: stands still on an even ground: an attitude and a place
UPRIGHT = [1.0, 0.0, 0.0, 0.0]


def body(name, G, kind, size, floating=True):
    """A rigid body with one shape."""
    builder = engine.Builder(name)
    builder.add_link(name, inertia=G, collisions=[Geometry(kind, size)])
    return builder.model(floating_base=floating)


def ball(radius=0.05, mass=0.1, name="ball"):
    return body(name, inertia.sphere(mass, radius), "sphere", (radius,))


def block(size=(0.2, 0.2, 0.1), mass=1.0, name="block"):
    return body(name, inertia.box(mass, size), "box", size)


def point(mass=1.0, radius=0.1):
    """A ball that does not turn: it slides along three axes."""
    builder = engine.Builder("point")
    builder.add_link("world")
    for k, (parent, child, last) in enumerate((("world", "x", False), ("x", "y", False), ("y", "point", True))):
        G = inertia.sphere(mass if last else 1e-9, radius)
        builder.add_link(child, inertia=G, collisions=[Geometry("sphere", (radius,))] if last else [])
        builder.add_joint("xyz"[k], "prismatic", parent, child, axis=np.eye(3)[k])
    return builder.model()


def material(stiffness=1e5, dissipation=0.1, friction=0.5, static=None):
    """A surface that has this stiffness on another of its kind."""
    return engine.ContactMaterial(2.0 * stiffness, dissipation, friction, static)


def simulator(model, surface, ground=True, slow=1e-4, pairs=None, **options):
    """A simulator in which all surfaces are of one kind."""
    contacts = engine.Contacts(engine.HalfSpace(material=surface) if ground else None, pairs, surface, stiction_velocity=slow)
    return engine.Simulator(model, contacts=contacts, **options)


def inclined(degrees):
    """Gravity on an incline that falls along x."""
    a = np.radians(degrees)
    return 9.81 * np.sin(a), 0.0, -9.81 * np.cos(a)
