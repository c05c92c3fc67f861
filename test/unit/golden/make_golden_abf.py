#!/usr/bin/env python3
"""Wrote the golden files abf_*.hex beside it: a second implementation of the age-partitioned filter.

It shares no code with src/core and follows docs/format.md alone; a filter is a set of (slice, block, bit), worked out from
all items at once. Run once, as make_golden.py was: the files are never written again. With --check it compares instead,
and ends with 1 if anything differs.
"""

import os
import struct
import sys

sys.dont_write_bytecode = True
from make_golden import MASK, common, hash_int64, mix

STEP = 0x9E3779B97F4A7C15


def bits_of_item(h, generation, k, n, blocks, block_bits):
	for s in range(generation - k + 1, generation + 1):
		place = s % n
		word = mix(h + (place // 4 + 1) * STEP & MASK)
		piece = word >> place % 4 * 16 & 0xFFFF
		yield s, h * blocks >> 64, piece * block_bits >> 16


def value(by_time, window, k, l, blocks, block_bits, items, moved_to):
	n = k + l
	length = -(-window // l)
	stream = [(hash_int64(i * i % 83), i * 17011 % 1999993 - 500000 if by_time else i) for i in range(items)]
	newest = 0
	if items:
		newest = max(at // length for _, at in stream) if by_time else items // length
	if moved_to:
		newest = max(newest, moved_to // length)
	payload = bytearray(blocks * n * block_bits // 8)
	for h, at in stream:
		for s, block, bit in bits_of_item(h, at // length, k, n, blocks, block_bits):
			if s > newest - n:
				payload[(block * n + s % n) * block_bits // 8 + bit // 8] |= 1 << bit % 8
	filled = any(payload)
	header = common(5, by_time | filled << 1, 1 if items else 0) + struct.pack(
		"<IHBBqQdQq40x", blocks, block_bits, k, l, window, 100, 0.05, items, newest)
	return header + payload if filled else header


FILES = {
	"abf_empty": (False, 100, 4, 6, 1, 128, 0, 0),
	"abf_items": (False, 100, 4, 6, 1, 128, 250, 0),
	"abf_time": (True, 1000000, 5, 7, 2, 512, 120, 0),
	"abf_moved": (True, 1000000, 5, 7, 1, 192, 120, 2500000),
	"abf_gone": (True, 1000000, 5, 7, 1, 192, 120, 9000000),
}


def main():
	folder = os.path.dirname(os.path.abspath(__file__))
	differs = False
	for name, parameters in FILES.items():
		text = value(*parameters).hex()
		lines = "".join(text[i:i + 64] + "\n" for i in range(0, len(text), 64))
		path = os.path.join(folder, name + ".hex")
		if "--check" in sys.argv:
			differs |= open(path).read() != lines
		else:
			open(path, "x").write(lines)
	return int(differs)


if __name__ == "__main__":
	sys.exit(main())
