#!/usr/bin/env python3
"""Wrote the golden files beside it: a second implementation of format version 1.

It shares no code with src/core and follows the documented layout alone: exact integers and decimals of 60 digits,
XXH3 for inputs of eight bytes spelt out. Format version 1 will be read for ever from the first release on, so a file is written once and never
again; run with --check it compares instead of writing, and ends with 1 if anything differs.
"""

import os
import struct
import sys
from decimal import Decimal, getcontext

getcontext().prec = 60
MASK = (1 << 64) - 1
KEPT = MASK ^ 0xFFFF  # bits of a hash that a tbf does not set to 0

# ------------------------------------------------------------------ hashing

# Bytes 8 to 23 of XXH3's default secret, as two little-endian words.
SECRET_8 = int.from_bytes(bytes.fromhex("7c01812cf721ad1c"), "little")
SECRET_16 = int.from_bytes(bytes.fromhex("ded46de9839097db"), "little")


def rotate(x, n):
	return ((x << n) | (x >> (64 - n))) & MASK


def hash_int64(value):
	"""XXH3_64bits, seed 0, of eight little-endian bytes (the way for 4 to 8 bytes)."""
	data = struct.pack("<q", value)
	first, last = struct.unpack("<II", data)
	h = (last + (first << 32)) ^ SECRET_8 ^ SECRET_16
	h ^= rotate(h, 49) ^ rotate(h, 24)
	h = h * 0x9FB21C651E98DF25 & MASK
	h ^= (h >> 35) + len(data)
	h = h * 0x9FB21C651E98DF25 & MASK
	return h ^ (h >> 28)


# ------------------------------------------------------------------- headers

def common(type_code, flags, kind, detail=0, name=b""):
	return struct.pack("<2sBBHHI28s", b"SB", type_code, 1, flags, kind, detail, name)


def bf_header(kind, lines, hashes, widened, items, fpr, detail=0, name=b""):
	return common(1, 0, kind, detail, name) + struct.pack("<IBBHQd", lines, hashes, widened, 0, items, fpr)


def tbf_header(t, cell_bits):
	return common(4, t["flags"], t["kind"]) + struct.pack(
		"<IHBBBBB5xqqqqQQQd8x", t["blocks"], t["block_cells"], t["hashes"], 0, cell_bits, t["unit_bits"], t["widened"],
		t["half_life"], t["epoch"], t["base"], t["newest"], t["slack"], t["total"], t["items"], t["fpr"])


# ------------------------------------------------------------------------ bf

def bf_place(h, lines, hashes):
	h &= MASK << 16 & MASK
	probe = (h * 0xBF58476D1CE4E5B9 & MASK) >> 32
	bits = []
	for _ in range(hashes):
		bits.append(probe >> 23)
		probe = probe * 0x9E3779B9 & 0xFFFFFFFF
	return h * lines >> 64, bits


def bf_lines(lines, hashes, items):
	data = bytearray(lines * 64)
	for item in items:
		line, bits = bf_place(hash_int64(item), lines, hashes)
		for bit in bits:
			data[line * 64 + bit // 8] |= 1 << bit % 8
	return bytes(data)


def bits_to_bytes(bits):
	bits += "0" * (-len(bits) % 8)
	return bytes(int(bits[i:i + 8][::-1], 2) for i in range(0, len(bits), 8))


def bf_exact(items, hashes=6, fpr=0.01):
	"""The list of hashes, 48 bits of each, in blocks: strings of 0 and 1, the first bit in front."""
	ordered = sorted(set(hash_int64(item) >> 16 for item in items))
	directory = blocks = b""
	if ordered:
		width = (len(ordered) - 1).bit_length()
		of_block = max(width - 7, 0)
		of_bucket = min(width + 1, 8)
		lower = 48 - of_block - of_bucket
		for block in range(1 << of_block):
			mine = [h for h in ordered if h >> 48 - of_block == block]
			buckets = [h >> lower & (1 << of_bucket) - 1 for h in mine]
			bits = "".join("01"[bucket in buckets] for bucket in range(1 << of_bucket))
			bits += "".join("01"[bucket not in buckets[i + 1:]] for i, bucket in enumerate(buckets))
			bits += "".join(str(h >> i & 1) for h in mine for i in range(lower))
			if mine:
				blocks += struct.pack("<H", len(mine) - 1) + bits_to_bytes(bits)
			directory += len(blocks).to_bytes(3, "little")
	data = directory + blocks
	return common(1, 1, 1) + struct.pack("<IBBHQd", len(ordered), hashes, 0, 0, len(data), fpr) + data


# ----------------------------------------------------------------------- tbf

def mix(x):
	x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
	x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
	return x ^ x >> 31


def tbf_place(h, blocks, block_cells, hashes):
	h &= KEPT
	positions = []
	for i in range(hashes):
		pieces = mix(h + (i // 4 + 1) * 0x9E3779B97F4A7C15 & MASK)
		positions.append((pieces >> 16 * (i % 4) & 0xFFFF) * block_cells >> 16)
	return h * blocks >> 64, positions


def ceil_shift(value, shift):
	return -(-value >> shift) if shift >= 0 else value << -shift


def hit_value(t, at, weight):
	"""(half-lives, ceil(weight * 2^(12 + frac x)), start of the epoch); refuses what rounding could decide either way."""
	if t["half_life"] == 0:
		return 0, int(weight * 4096), 0
	start = at // t["epoch"] * t["epoch"]
	half_lives, part = divmod(start, t["half_life"])
	exact = Decimal(weight) * 4096 * Decimal(2) ** (Decimal(part) / t["half_life"])
	value = int(exact.to_integral_value("ROUND_CEILING"))
	if part:
		assert Decimal("1e-4") < value - exact < 1 - Decimal("1e-4"), (at, weight)
	return half_lives, value, start


def tbf_of_hits(t, hits):
	"""Fills in the header's fields and returns it with the cells, as numbers. REQUIRES: less than 48 half-lives."""
	moments = [(hash_int64(item),) + hit_value(t, at, weight) for item, at, weight in hits]
	t = dict(t)
	t["base"] = max(half_lives for _, half_lives, _, _ in moments)
	t["newest"] = max(start for _, _, _, start in moments)
	t["flags"] = 1
	cells = [0] * (t["blocks"] * t["block_cells"])
	lowest = min(half_lives for _, half_lives, _, _ in moments)
	assert t["base"] - lowest < 48
	total = 0
	for h, half_lives, value, _ in moments:
		exact = value << half_lives - lowest
		total += exact
		block, positions = tbf_place(h, t["blocks"], t["block_cells"], t["hashes"])
		for position in positions:
			cells[block * t["block_cells"] + position] += exact
	shift = t["base"] - lowest
	t["total"] = ceil_shift(total, shift)
	return t, [ceil_shift(cell, shift + 12 - t["unit_bits"]) for cell in cells]


def decayed(t, cells, half_lives):
	t = dict(t)
	t["base"] += half_lives
	t["total"] = ceil_shift(t["total"], half_lives)
	t["slack"] = ceil_shift(t["slack"], half_lives)
	after = [0 if cell <= 1 << half_lives - 1 else ceil_shift(cell, half_lives) for cell in cells]
	if any(a == 0 and b != 0 for a, b in zip(after, cells)):
		t["flags"] |= 2
	return t, after


def merged(t, cells, u, others):
	"""The newer one (u) is shifted up to the older one's base."""
	t = dict(t)
	shift = u["base"] - t["base"]
	assert 0 <= shift <= 32

	def slack(f):
		return f["slack"] + (128 if f["flags"] & 2 else 0)

	t["slack"] = slack(t) + (slack(u) << shift)
	t["total"] += u["total"] << shift
	t["newest"] = max(t["newest"], u["newest"])
	t["flags"] = 1
	return t, [a + (b << shift) for a, b in zip(cells, others)]


def tbf_value(t, cells):
	largest = max(cells)
	bits = next(bits for bits in (8, 16, 32, 64) if largest >> bits == 0)
	return tbf_header(t, bits) + b"".join(cell.to_bytes(bits // 8, "little") for cell in cells)


# ----------------------------------------------------- the exact form of a tbf

def items_of_hits(t, hits):
	"""As tbf_of_hits(), for an exact filter: the header's fields, and a dictionary from the 48 bits of a hash to units."""
	moments = [(hash_int64(item) >> 16,) + hit_value(t, at, weight) for item, at, weight in hits]
	t = dict(t)
	t["base"] = max(half_lives for _, half_lives, _, _ in moments)
	t["newest"] = max(start for _, _, _, start in moments)
	t["flags"] = 1 + 16
	lowest = min(half_lives for _, half_lives, _, _ in moments)
	assert t["base"] - lowest < 48
	sums = {}
	for h, half_lives, value, _ in moments:
		sums[h] = sums.get(h, 0) + (value << half_lives - lowest)
	shift = t["base"] - lowest
	t["total"] = ceil_shift(sum(sums.values()), shift)
	return t, {h: ceil_shift(v, shift + 12 - t["unit_bits"]) for h, v in sums.items()}


def fixed(value, count):
	"""The lower bits of a number as a string, the lowest first."""
	return "".join(str(value >> i & 1) for i in range(count))


def gamma(value):
	zeros = value.bit_length() - 1
	return "0" * zeros + "1" + fixed(value, zeros)


def exact_block(n, b, first, items):
	q = min(n.bit_length() + 1, 8)
	lower = 48 - b - q
	buckets = [h - first >> lower for h, _ in items]
	widths = [(units - 1).bit_length() for _, units in items]
	k = next(k for k in range(64) if 2 * sum(w > k for w in widths) <= len(widths))
	bits = "".join("01"[bucket in buckets] for bucket in range(1 << q))
	bits += "".join("01"[bucket not in buckets[i + 1:]] for i, bucket in enumerate(buckets))
	bits += "".join("01"[w > k] for w in widths)
	bits += "".join(fixed(h, lower) + fixed(units - 1, k) for h, units in items)
	bits += "".join(gamma(units - 1 >> k) for _, units in items if units - 1 >> k)
	bits += "0" * (-len(bits) % 8)
	return struct.pack("<HB", len(items) - 1, k) + bytes(int(bits[i:i + 8][::-1], 2) for i in range(0, len(bits), 8))


def exact_value(t, items):
	n = len(items)
	b = 0
	while n >> b + 1 >= 64:
		b += 1
	directory = blocks = b""
	for number in range(1 << b):
		part = sorted((h, units) for h, units in items.items() if h >> 48 - b == number)
		if part:
			blocks += exact_block(n, b, number << 48 - b, part)
		directory += len(blocks).to_bytes(3, "little")
	largest = max(items.values())
	bits = next(bits for bits in (8, 16, 32, 64) if largest >> bits == 0)
	header = common(4, t["flags"], t["kind"]) + struct.pack(
		"<IHBBBBB5xqqqqQQQdI4x", n, 0, t["hashes"], 1, bits, t["unit_bits"], 0, t["half_life"], t["epoch"], t["base"],
		t["newest"], t["slack"], t["total"], 0, t["fpr"], len(directory + blocks))
	return header + directory + blocks


# ----------------------------------------------------------------- the files

HOUR = 3600 * 1000000
DAY = 24 * HOUR
UNDECAYED = dict(flags=0, kind=1, blocks=1, block_cells=64, hashes=3, unit_bits=0, widened=0, half_life=0, epoch=0, base=0,
				 newest=0, slack=0, total=0, items=20, fpr=0.01)
DECAYING = dict(UNDECAYED, block_cells=128, hashes=4, unit_bits=4, half_life=DAY, epoch=HOUR)


def filters():
	"""golden_test.cpp makes the same ones through the core."""
	yield "bf_empty", bf_header(0, 4, 7, 0, 150, 0.01) + bytes(4 * 64)
	yield "bf_integers", bf_header(1, 6, 6, 1, 0, 0.02) + bf_lines(6, 6, range(1, 101))
	yield "bf_named", bf_header(12, 1, 16, 0, 10, 1e-5, 0xDEADBEEF, b"inet") + bf_lines(1, 16, [-5])
	yield "bf_exact_none", bf_exact([])
	yield "bf_exact_one", bf_exact([42], 10, 0.001)
	yield "bf_exact_few", bf_exact(range(-3, 4))
	yield "bf_exact_blocks", bf_exact(range(1000, 1300))
	yield "bf_text", bf_header(3, 1, 1, 0, 10, 0.5, 6) + bf_lines(1, 1, [7, 8])

	yield "tbf_empty", tbf_value(DECAYING, [0] * 128)
	yield "tbf_undecayed", tbf_value(*tbf_of_hits(UNDECAYED, [(i, 0, i) for i in range(1, 21)]))
	yield "tbf_wide", tbf_value(*tbf_of_hits(UNDECAYED, [(1, 0, 5000000000), (2, 0, 70000), (3, 0, 1)]))
	blocks = tbf_of_hits(dict(DECAYING, blocks=2, block_cells=4096), [(i, 1000 * DAY + 37 * i * HOUR + 12345, 1) for i in range(20)])
	assert all(any(blocks[1][block * 4096:(block + 1) * 4096]) for block in range(2))
	yield "tbf_blocks", tbf_value(*blocks)
	# item i is hit at hour 37 i from the thousandth day on, and also ten days before the year 2000
	decaying = tbf_of_hits(DECAYING, [(i, 1000 * DAY + 37 * i * HOUR + 12345, 1) for i in range(20)])
	yield "tbf_decaying", tbf_value(*decaying)
	negative = tbf_of_hits(DECAYING, [(i, -10 * DAY + 5 * i * HOUR - 1, 1 + i) for i in range(20)])
	yield "tbf_before_2000", tbf_value(*negative)
	later = decayed(*decaying, 5)
	assert later[0]["flags"] & 2
	yield "tbf_decayed", tbf_value(*later)
	yield "tbf_merged", tbf_value(*merged(*decaying, *later))
	yield "tbf_exact", exact_value(*items_of_hits(dict(UNDECAYED, hashes=4), [(i * i % 150, 0, i) for i in range(1, 300)]))
	yield "tbf_exact_one", exact_value(*items_of_hits(dict(UNDECAYED, hashes=4), [(7, 0, 1)]))
	fading = [(i, 1000 * DAY + 37 * i * HOUR + 12345, 1) for i in range(20)]
	yield "tbf_exact_decaying", exact_value(*items_of_hits(dict(DECAYING, unit_bits=12), fading))


def places():
	hashes = [hash_int64(i) for i in range(12)] + [0, 1, MASK, 1 << 63, 0xFFFFFFFF]
	yield "bf_places", "".join(
		"%016x %d : %d %s\n" % (h, lines, bf_place(h, lines, 16)[0], " ".join(map(str, bf_place(h, lines, 16)[1])))
		for h in hashes for lines in (1, 3, 1000, 7999999))
	yield "tbf_places", "".join(
		"%016x %d %d : %d %s\n" % (h, blocks, cells, tbf_place(h, blocks, cells, 16)[0],
								   " ".join(map(str, tbf_place(h, blocks, cells, 16)[1])))
		for h in hashes for blocks, cells in ((1, 64), (1, 1024), (3, 4096), (32768, 4096)))
	yield "hashes", "".join("%d %016x\n" % (i, hash_int64(i)) for i in
							[0, 1, -1, 42, 1 << 32, -(1 << 63), (1 << 63) - 1, 1234567890123456789])


def files():
	for name, value in filters():
		yield name + ".hex", "".join(value[i:i + 32].hex() + "\n" for i in range(0, len(value), 32))
	for name, text in places():
		yield name + ".txt", text


def main():
	here = os.path.dirname(os.path.abspath(__file__))
	differing = 0
	for name, text in files():
		path = os.path.join(here, name)
		if "--check" in sys.argv:
			with open(path) as file:
				if file.read() != text:
					print(name, "differs")
					differing = 1
		else:
			if not os.path.exists(path):  # an existing file is never written over
				with open(path, "x") as file:
					file.write(text)
	return differing


if __name__ == "__main__":
	sys.exit(main())
