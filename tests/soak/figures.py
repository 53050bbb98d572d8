"""Figures of a soak and what they must be: flat memory, descriptors and threads, bounded lateness. `figures.py --test` tries them."""
import dataclasses
import sys


def slope(points):
    """Of the line of least squares through (x, y), in units of y per x; 0 for fewer than two x."""
    n = len(points)
    if n < 2:
        return 0.0
    mean_x, mean_y = sum(x for x, _ in points) / n, sum(y for _, y in points) / n
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread if spread > 0 else 0.0


def quantile(values, share):
    """The smallest value that so many of them do not exceed; 0 of none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def sixths(points):
    """The y of the first and of the last sixth of the time between the first and the last x."""
    if not points:
        return [], []
    low, high = min(x for x, _ in points), max(x for x, _ in points)
    part = (high - low) / 6
    return [y for x, y in points if x <= low + part], [y for x, y in points if x >= high - part]


@dataclasses.dataclass
class Sample:
    at: float         # s
    resident: int     # bytes
    descriptors: int
    threads: int


@dataclasses.dataclass
class Bounds:
    growth_bytes: float = 4 << 20  # of resident memory over the measured time, by regression, or ...
    growth_share: float = 0.05     # ... this share of it, whichever is more
    lateness_factor: float = 2.0   # of the last sixth to the first, for median and 99th percentile
    median_floor: float = 0.1      # s, below which lateness counts as this
    tail_floor: float = 0.5


def memory_verdict(samples, bounds):
    """Growth in bytes over the time of these samples, and whether it is flat."""
    if len(samples) < 2:
        return 0.0, False
    points = [(sample.at, float(sample.resident)) for sample in samples]
    growth = slope(points) * (points[-1][0] - points[0][0])
    most = max(bounds.growth_bytes, bounds.growth_share * points[0][1])
    return growth, growth <= most


def lateness_verdict(points, bounds):
    """((median, 99th percentile) of the first sixth, the same of the last, whether it is bounded)."""
    first, last = sixths(points)
    if not first or not last:
        return (0.0, 0.0), (0.0, 0.0), False
    before, after = (quantile(first, 0.5), quantile(first, 0.99)), (quantile(last, 0.5), quantile(last, 0.99))
    floors = (bounds.median_floor, bounds.tail_floor)
    bounded = all(end <= bounds.lateness_factor * max(start, floor) for start, end, floor in zip(before, after, floors))
    return before, after, bounded


def test():
    assert slope([]) == 0 and slope([(1, 5)]) == 0 and slope([(1, 5), (1, 7)]) == 0
    assert abs(slope([(0, 1), (1, 3), (2, 5)]) - 2) < 1e-12
    assert quantile([], 0.5) == 0 and quantile([3, 1, 2], 0.5) == 2 and quantile(range(100), 0.99) == 99
    first, last = sixths([(i, i) for i in range(61)])
    assert first == list(range(11)) and last == list(range(50, 61)), (first, last)
    bounds = Bounds()
    flat = [Sample(i, (100 << 20) + (i % 7) * 4096, 10, 3) for i in range(100)]
    assert memory_verdict(flat, bounds)[1]
    leak = [Sample(i, (100 << 20) + i * 100000, 10, 3) for i in range(100)]
    growth, good = memory_verdict(leak, bounds)
    assert not good and abs(growth - 9900000) < 1, growth
    assert not memory_verdict([], bounds)[1], "nothing measured is not flat"
    assert lateness_verdict([(i, 0.02) for i in range(100)], bounds)[2]
    assert lateness_verdict([(i, 0.02 + 0.001 * i) for i in range(100)], bounds)[2], "below the floor"
    assert not lateness_verdict([(i, 0.2 + 0.01 * i) for i in range(100)], bounds)[2], "it grows"
    assert not lateness_verdict([], bounds)[2], "nothing measured is not bounded"
    # The median stays, one in fifty comes ever later.
    assert not lateness_verdict([(i, 0.02 if i % 50 else 0.1 + i) for i in range(1000)], bounds)[2]


if __name__ == "__main__":
    if sys.argv[1:] != ["--test"]:
        sys.exit(__doc__)
    test()
