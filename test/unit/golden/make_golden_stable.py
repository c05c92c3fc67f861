#!/usr/bin/env python3
"""Wrote the golden files sbf_*.hex and ibf_*.hex beside it: a second implementation of the stable filters.

It shares no code with src/core and follows docs/format.md alone; cells are a list of integers, evicted one by one. Run
once, as make_golden.py was: the files are never written again. With --check it compares instead, and ends with 1 if
anything differs.
"""

import bisect
import math
import os
import struct
import sys

sys.dont_write_bytecode = True
from make_golden import common, hash_int64

MASK = (1 << 64) - 1
STEP = 0x9E3779B97F4A7C15


def mix(x):
	x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
	x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
	return x ^ x >> 31


class Filter:
	def __init__(self, scheme, low, high, hashes, bits, evictions, seed):
		self.scheme, self.low, self.high = scheme, low, high
		self.hashes, self.bits, self.evictions = hashes, bits, evictions
		self.seed = self.random = seed
		self.items = self.steps = 0
		self.cells = [0] * (100 * 8 // bits)
		self.max = 2 ** bits - 1
		self.seen, self.sample = 0, []

	def draw(self):
		self.random = self.random + STEP & MASK
		return mix(self.random)

	def evict(self):
		m = len(self.cells)
		if self.scheme == 3:
			left, tries = self.evictions, 32 * self.evictions
			while left and tries:
				tries -= 1
				product = self.draw() * m
				cell, rest = product >> 64, product & MASK
				value = self.cells[cell]
				if value and rest <= MASK // value:
					self.cells[cell] -= 1
					left -= 1
		else:
			first = self.draw() * m >> 64
			for i in range(self.evictions):
				cell = (first + i) % m
				self.cells[cell] -= self.cells[cell] > 0

	def note(self, importance):
		place = len(self.sample)
		if place == 64:
			place = mix(mix(~self.seed & MASK) + self.seen & MASK) * min(self.seen + 1, 4096) >> 64
			if place < 64:
				del self.sample[place]
		if place < 64:
			bisect.insort(self.sample, importance)
		self.seen += 1

	def value(self, importance):
		if self.scheme == 0:
			return self.max
		if self.low is None:
			below, to = bisect.bisect_left(self.sample, importance), bisect.bisect_right(self.sample, importance)
			s = len(self.sample)
			if self.scheme == 1:
				return self.max if below + to > s else self.max // 2
			if below == to:
				return min(self.max, 1 + below * self.max // s)
			return sum(1 + (2 * j + 1) * self.max // (2 * s) for j in range(below, to)) // (to - below)
		if self.scheme == 1:
			return self.max if importance >= self.low else self.max // 2
		if importance <= self.low:
			return 1
		return min(self.max, 1 + math.floor((importance - self.low) / (self.high - self.low) * self.max))

	def step(self, h, importance):
		if self.low is None:
			self.note(importance)
		self.evict()
		for i in range(self.hashes):
			cell = mix(h + (i + 1) * STEP & MASK) * len(self.cells) >> 64
			self.cells[cell] = max(self.cells[cell], self.value(importance))
		self.items += 1
		self.steps += 1

	def decay(self, steps):
		for _ in range(steps):
			self.evict()
		self.steps += steps

	def stored(self):
		packed = sum(value << (i * self.bits) for i, value in enumerate(self.cells))
		header = common(2 if self.scheme == 0 else 3, 0, 1 if self.items else 0) + struct.pack(
			"<IBBBBI4xQQQQddd16x", len(self.cells), self.bits, self.hashes, self.scheme, self.low is None, self.evictions,
			self.seed, self.random, self.items, self.steps, 0.01, self.low or 0, self.high or 0)
		if self.items == 0:
			return header
		cells = packed.to_bytes((len(self.cells) * self.bits + 7) // 8, "little")
		sample = struct.pack("<Q64d", self.seen, *self.sample, *[0] * (64 - len(self.sample)))
		return header + cells + (sample if self.low is None else b"")


FILES = {
	"sbf_empty": ((0, 0, 0, 5, 3, 10, 0), 0, 0),
	"sbf_integers": ((0, 0, 0, 5, 3, 10, 42), 500, 0),
	"sbf_decayed": ((0, 0, 0, 3, 1, 4, 7), 300, 25),
	"ibf_two_class": ((1, 25, 25, 5, 3, 10, 42), 500, 0),
	"ibf_multi_class": ((2, 0, 50, 5, 4, 10, MASK), 500, 0),
	"ibf_value_weighted": ((3, -10.5, 30, 4, 3, 3, 1), 500, 40),
	"ibf_ranked": ((2, None, None, 5, 4, 10, 42), 6000, 0),
	"ibf_ranked_few": ((1, None, None, 5, 3, 10, 42), 40, 0),
}


def main():
	folder = os.path.dirname(os.path.abspath(__file__))
	differs = False
	for name, (parameters, items, decay) in FILES.items():
		f = Filter(*parameters)
		for i in range(items):
			f.step(hash_int64(i * i % 211), float(i * 7 % 53))
		f.decay(decay)
		text = f.stored().hex()
		lines = "".join(text[i:i + 64] + "\n" for i in range(0, len(text), 64))
		path = os.path.join(folder, name + ".hex")
		if "--check" in sys.argv:
			differs |= open(path).read() != lines
		else:
			open(path, "x").write(lines)
	return int(differs)


if __name__ == "__main__":
	sys.exit(main())
