"""Reads callgrind's output files: what each function of one library cost by itself."""

import collections
import re

# "(3) name" gives a number a name, "(3)" uses it
NAME = re.compile(r"\((\d+)\)(?: (.*))?")
SUBPOSITION = re.compile(r"^(\+|-|\*|\d|0x)")


class Profile:
    """Costs by object, function, and source line; `addresses` where the file was written with --dump-instr=yes."""

    def __init__(self):
        self.functions = collections.Counter()
        self.lines = collections.Counter()
        self.addresses = collections.Counter()

    def total(self, library):
        return sum(cost for (where, _), cost in self.functions.items() if library in where)


def read(path):
    profile, reader = Profile(), Reader()
    with open(path) as file:
        for line in file:
            reader.take(line.rstrip("\n"), profile)
    return profile


class Reader:
    def __init__(self):
        self.names = collections.defaultdict(dict)
        self.here = {"ob": "", "fl": "", "fn": ""}
        self.has_addresses = False
        self.positions = [0, 0]
        self.after_call = False

    def take(self, line, profile):
        if line.startswith("positions:"):
            self.has_addresses = "instr" in line
        elif line.startswith("calls="):
            self.after_call = True
        elif "=" in line and line.split("=", 1)[0] in ("ob", "fl", "fi", "fe", "fn", "cob", "cfi", "cfl", "cfn"):
            self.name(*line.split("=", 1))
        elif SUBPOSITION.match(line):
            self.cost(line.split(), profile)

    def name(self, key, text):
        kind = {"fi": "fl", "fe": "fl", "cob": "ob", "cfi": "fl", "cfl": "fl", "cfn": "fn"}.get(key, key)
        number, name = NAME.fullmatch(text).groups()
        if name is not None:
            self.names[kind][number] = name
        if not key.startswith("c"):
            self.here[kind] = self.names[kind][number]

    def cost(self, fields, profile):
        count = 2 if self.has_addresses else 1
        self.positions = [moved(old, text) for old, text in zip(self.positions, fields[:count])]
        if self.after_call:
            # what the called function cost; it tells that itself
            self.after_call = False
            return
        cost = int(fields[count]) if len(fields) > count else 0
        place = self.here["ob"], self.here["fn"]
        profile.functions[place] += cost
        profile.lines[(*place, self.here["fl"], self.positions[-1])] += cost
        if self.has_addresses:
            profile.addresses[(self.here["ob"], self.positions[0])] += cost


def moved(old, text):
    """A position is written as a number, or as the distance to the one before."""
    if text == "*":
        return old
    if text[0] in "+-":
        return old + int(text, 0)
    return int(text, 0)
