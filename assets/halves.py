"""Pitch joints of arms: two halves side by side, each from a collar on the axis of a roll joint to a drum on the pitch joint's axis, y."""

from robots import Shape
from solids import DOWN, LEFT, RIGHT, Looks, placed, shaped, spun

GAP = 0.0015  # m: between the halves, to either side of their middle


def half(length: float, r: float, drum: float, depth: float) -> Looks:
    """Half a pitch joint at the end of a collar: from the collar, at the origin, up to the joint's axis, y; it lies to the side of -y."""
    side, cover, ring = (0, 0, length), 0.62 * drum, 0.68 * drum
    waist = max(length - 1.65 * drum, 0.036)
    return {
        "white": [
            shaped([(0.006, -r, r, -r, r, r), (0.02, -r, r, -r, r, r), (waist, -r, r, -0.45 * r - 0.53 * depth, 0.7 * r, 0.9 * r),
                    (length - 0.85 * drum, -0.985 * drum, 0.985 * drum, -0.94 * depth, -0.004, 0.45 * drum),
                    (length, 0.002 - drum, drum - 0.002, 0.02 - depth, -0.008, 0.3 * drum)], (0.004, 0)),
            spun([(0, GAP), (drum, GAP, 0.004), (drum, depth, 0.35 * drum), (0, depth)], side, RIGHT, 36),
        ],
        "graphite": [
            spun([(0, 0), (r - 0.003, 0), (r - 0.003, 0.01), (0, 0.01)], sides=28),
            spun([(0, 0), (drum - 0.004, 0), (drum - 0.004, 0.01), (0, 0.01)], side, RIGHT, 28),
            spun([(0, depth - 0.004), (cover, depth - 0.004), (cover, depth + 0.004, 0.003), (0, depth + 0.004)], side, RIGHT, 28),
        ],
        "blue": [spun([(0, depth - 0.004), (ring, depth - 0.004), (ring, depth + 0.0015, 0.0012), (0, depth + 0.0015)], side, RIGHT, 28)],
    }  # fmt: skip


def other(length: float, r: float, drum: float, depth: float) -> Looks:
    """The other half, from the joint's axis at the origin up to a collar."""
    looks = half(length, r, drum, depth)
    return {material: [placed(solid, (0, 0, length), DOWN) for solid in solids] for material, solids in looks.items()}


def around(length: float, r: float, drum: float, depth: float, sign: int, short: bool = False) -> list[Shape]:
    """What collides of a half: its collar and its drum, or where it is short one cylinder; with the sign -1, of the other half."""
    low, high = sorted((0.0, length - 0.8 * drum) if sign > 0 else (length, 0.8 * drum))
    middle = length if sign > 0 else 0.0
    if short:
        return [Shape("cylinder", (drum, length + drum), (0, -0.2 * sign * depth, (length + sign * drum) / 2))]
    collar = Shape("cylinder", (r, high - low), (0, 0, (low + high) / 2))
    return [collar, Shape("cylinder", (drum, depth), (0, -sign * depth / 2, middle), LEFT)]
