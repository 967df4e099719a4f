"""Curves and bars in plain text."""

import math

WIDTH, HEIGHT = 56, 14


def marks(names):
    """Return {name: character}: the digit of an architecture's folder,
    letters for the others."""
    order = ("iterative", "forking", "preforking", "threaded", "prethreaded",
             "poll", "epoll")
    letters = iter("abcdefghijklmnpqrstuvwxyzABCDEFGHIJKLMNPQRSTUVWXYZ")
    return {name: str(order.index(name) + 1) if name in order
            else next(letters) for name in names}


def chart(series, x_title, y_title):
    """Return the lines of a chart with two logarithmic axes.

    series: {name: [(x, y, hollow), ...]}. Where two curves meet stands `*`; a
    hollow point, which has lost requests, is `o`. A y of 0, which has no
    place on such an axis, stands at its lower edge.
    """
    points = [p for each in series.values() for p in each]
    answered = [p[1] for p in points if p[1] > 0]
    if not answered:
        return ["(no figures)"]
    xs = sorted({p[0] for p in points})
    if len(xs) == 1:
        return bars({name: each[0][1:] for name, each in series.items()
                     if each}, y_title)
    low, high = _decade(min(answered), max(answered))
    rows = [[" "] * WIDTH for _ in range(HEIGHT)]
    signs = marks(series)
    for name, each in series.items():
        for x, y, hollow in each:
            column = _place(x, xs[0], xs[-1], WIDTH)
            row = HEIGHT - 1 - _place(max(y, low), low, high, HEIGHT)
            here = rows[row][column]
            sign = "o" if hollow else signs[name]
            rows[row][column] = sign if here in (" ", sign) else "*"
    lines = [y_title]
    for index, row in enumerate(rows):
        value = high * (low / high) ** (index / (HEIGHT - 1))
        label = _short(value) if index % 3 == 0 or index == HEIGHT - 1 else ""
        lines.append(f"{label:>7} |" + "".join(row).rstrip())
    lines.append(" " * 8 + "+" + "-" * WIDTH)
    lines.append(" " * 9 + _x_labels(xs))
    lines.append(" " * 9 + x_title)
    lines += _legend({signs[name]: name for name in series})
    return lines


def bars(values, title):
    """Return the lines of horizontal bars. values: {name: (y, hollow)}."""
    longest = max(y for y, _ in values.values())
    width = max(len(name) for name in values)
    lines = [title]
    for name, (y, hollow) in values.items():
        length = max(1, round(44 * y / longest)) if y else int(hollow)
        sign = "o" if hollow else "#"
        lines.append(f"{name:>{width}} |{sign * length} {_short(y)}")
    return lines


def _decade(low, high):
    """Return bounds around low and high that leave a little room."""
    if low == high:
        return low / 2, high * 2
    return low * 0.9, high * 1.1


def _place(value, low, high, cells):
    """Return the cell of a value on a logarithmic axis."""
    share = math.log(value / low) / math.log(high / low)
    return min(cells - 1, max(0, round(share * (cells - 1))))


def _x_labels(xs):
    """Return the x values below the axis, where there is room for each."""
    line, end = "", 0
    for x in xs:
        label = _short(x)
        start = max(0, min(_place(x, xs[0], xs[-1], WIDTH) - len(label) // 2,
                           WIDTH - len(label) + 4))
        if start >= end:
            line = line.ljust(start) + label
            end = len(line) + 1
    return line


def _legend(signs):
    """Return lines that tell which sign is which server's."""
    words = [f"{sign} {name}" for sign, name in signs.items()]
    words += ["* several", "o lost requests, or runs"]
    lines, line = [], ""
    for word in words:
        if line and len(line) + len(word) > 66:
            lines.append(" " * 9 + line)
            line = ""
        line += ("   " if line else "") + word
    return lines + [" " * 9 + line]


def _short(value):
    """Return 950, 1.2k, 15k, 1.1M."""
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if value >= size:
            scaled = value / size
            return f"{scaled:.1f}{unit}" if scaled < 10 and \
                round(scaled, 1) % 1 else f"{scaled:.0f}{unit}"
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}"
