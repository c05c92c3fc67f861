# run.awk: the table of ratios of bench/run, from the medians that the benchmarks left in `directory`: aggregates,
# lookups, growth.

function row(what, asked, measured, reached) { printf "| %s | %s | %s | %s |\n", what, asked, measured, reached }

# A row for a figure, such as a ratio, and its upper bound. given: 0 if a part of the figure was not measured.
function at_most(what, bound, value, unit, given) {
	row(what, "at most " bound unit, given ? sprintf("%.2f%s", value, unit) : "not measured", given ? (value <= bound ? "yes" : "**no**") : "")
}
function at_least(what, bound, value, unit, given) {
	row(what, "at least " bound unit, given ? sprintf("%.2f%s", value, unit) : "not measured", given ? (value >= bound ? "yes" : "**no**") : "")
}

function many(n,    text) {
	if (n >= 1e6 && n % 1e5 == 0) return n / 1e6 " M"
	if (n >= 1e3 && n % 1e3 == 0) return n / 1e3 " k"
	return n
}

# ns a row beyond count(*)
function ns(distinct, name) { return (one[distinct, name] - one[distinct, "count(*)"]) * 1e6 / rows[distinct] }
function over(what, distinct, name, peer, bound,    given) {
	given = (distinct, name) in one && (distinct, peer) in one && ns(distinct, peer) > 0
	at_most(what ", " many(distinct) " items", bound, given ? ns(distinct, name) / ns(distinct, peer) : 0, " ×", given)
}
function workers(distinct, name, peer,    given, value, theirs) {
	given = two[distinct, name] > 0 && two[distinct, peer] > 0
	value = given ? one[distinct, name] / two[distinct, name] : 0
	theirs = given ? one[distinct, peer] / two[distinct, peer] : 0
	row(sprintf("`%s`, two workers over one process, %s items", name, many(distinct)), "at least 1.5 × where hll gets that",
		given ? sprintf("%.2f × (hll %.2f ×)", value, theirs) : "not measured",
		!given ? "" : value >= 1.5 ? "yes" : theirs >= 1.5 ? "**no**" : "hll does not")
}

function best(size, operation,    a, b) {
	a = core[size, "bf", operation]
	b = core[size, "bf, many", operation]
	return a < b ? a : b
}

BEGIN {
	while ((getline <(directory "/aggregates")) > 0) {
		one[$1, $2] = $3
		two[$1, $2] = $4
		rows[$1] = $5
		if (few == "" || $1 + 0 < few) few = $1 + 0
		if ($1 + 0 > most) most = $1 + 0
	}
	while ((getline <(directory "/lookups")) > 0) {
		ms[$1, $2] = $3
		buffers[$1, $2] = $4
	}
	while ((getline <(directory "/growth")) > 0) {
		if ($1 == "core") {
			core[$3, $2, $4] = $5
			if ($4 == "whole") {
				if ($3 + 0 > whole[$2]) whole[$2] = $3 + 0
			} else {
				if (cached == "" || $3 + 0 < cached) cached = $3 + 0
				if ($3 + 0 > largest) largest = $3 + 0
			}
		} else if ($1 == "rows") {
			memory[$2, $3] = $6
			bytes[$2, $3] = $7
			if ($3 + 0 > deepest[$2]) deepest[$2] = $3 + 0
		} else {
			grouped[$2, $4] = $6
			if ($4 + 0 > groups[$2]) groups[$2] = $4 + 0
		}
	}

	print "| | asked | measured | reached |"
	print "| --- | --- | --- | --- |"
	text = "hll_add_agg(hll_hash_text(url))"
	integer = "hll_add_agg(hll_hash_bigint(bigint))"
	for (i = 1; i <= 2; i++) {
		n = i == 1 ? few : most
		over("`bf_agg(text)` over `hll_add_agg`, ns a row beyond count(\\*)", n, "bf_agg(url)", text, 0.8)
		over("`bf_agg(bigint)` over `hll_add_agg`", n, "bf_agg(bigint)", integer, 0.8)
		over("`bf_agg(text, n)` over `hll_add_agg`", n, "bf_agg(url, n)", text, 0.8)
		over("`bf_agg(bigint, n)` over `hll_add_agg`", n, "bf_agg(bigint, n)", integer, 0.8)
		over("`tbf_agg(text, at)` over `hll_add_agg`", n, "tbf_agg(url, at)", text, 1.5)
		over("`tbf_agg(text, …, n, rate)` over `hll_add_agg`", n, "tbf_agg(url, at, half-life, 1, n, rate)", text, 1.5)
		over("`sbf_agg(text)` over `hll_add_agg`", n, "sbf_agg(url)", text, 1.2)
		over("`bf_agg(text)` that sizes itself over one told n", n, "bf_agg(url)", "bf_agg(url, n)", 1.3)
		over("`bf_agg(bigint)` that sizes itself over one told n", n, "bf_agg(bigint)", "bf_agg(bigint, n)", 1.3)
	}
	for (i = 1; i <= 2; i++) {
		n = i == 1 ? few : most
		workers(n, "bf_agg(url)", text)
		workers(n, "bf_agg(bigint)", integer)
		workers(n, "tbf_agg(url, at)", text)
	}

	known = largest > 0
	at_most("core, insert over touching one line, " many(largest) " keys", 1.2, known ? best(largest, "add") / core[largest, "floor", "add"] : 0, " ×", known)
	at_most("core, look-up of a present key over touching one line, " many(largest) " keys", 1.2, known ? best(largest, "present") / core[largest, "floor", "present"] : 0, " ×", known)
	at_most("core, look-up of an absent key over touching one line, " many(largest) " keys", 1.2, known ? best(largest, "absent") / core[largest, "floor", "present"] : 0, " ×", known)
	at_most("core, insert, cached (" many(cached) " keys)", 1, known ? best(cached, "add") : 0, " ns", known)
	at_most("core, look-up of a present key, cached", 1, known ? best(cached, "present") : 0, " ns", known)
	at_most("core, look-up of an absent key, cached", 1, known ? best(cached, "absent") : 0, " ns", known)
	split("flat extensible", layouts, " ")
	for (i = 1; i <= 2; i++) {
		size = whole[layouts[i] " tbf: decay"]
		at_least(sprintf("core, decay of a tbf (%s, %.1f MB), speed over memcpy's", layouts[i], size / 1e6), 1,
			size ? core[size, layouts[i] " tbf: memcpy", "whole"] / core[size, layouts[i] " tbf: decay", "whole"] : 0, " ×", size > 0)
	}

	absent = "`f @> x`, absent"
	known = (10000000, absent) in ms
	row("`f @> x` on a stored 10 MB filter, buffers beyond the row's own", "at most 6",
		known ? buffers[10000000, absent] - buffers[10000000, "the row alone"] : "not measured",
		!known ? "" : buffers[10000000, absent] - buffers[10000000, "the row alone"] <= 6 ? "yes" : "**no**")
	at_least("the same, times faster than detoasting it", 100, known ? ms[10000000, "the same bytes detoasted"] / ms[10000000, absent] : 0, " ×", known)

	split("bf_agg(x, n);bf_agg(x)", names, ";")
	for (i = 1; i <= 2; i++) {
		n = deepest[names[i]]
		known = n > 0 && memory[names[i], n] > 0
		at_most(sprintf("memory of `%s` of %s items over the final filter", names[i], many(n)), 2, known ? memory[names[i], n] / bytes[names[i], n] : 0, " ×", known)
	}
	n = groups["bf_agg(x)"]
	if (n > 0 && grouped["bf_agg(x)", n] > 0)
		row(sprintf("memory of `bf_agg` in %s groups (%.0f MB) over `array_agg`", many(n), grouped["bf_agg(x)", n] / 1e6), "bounded",
			sprintf("%.2f ×", grouped["bf_agg(x)", n] / grouped["array_agg(x)", n]), "")
	n = groups["hll_add_agg"]
	if (n > 0 && grouped["hll_add_agg", n] > 0)
		row(sprintf("memory of `bf_agg` in %s groups (%.0f MB) over `hll_add_agg`", many(n), grouped["bf_agg(x)", n] / 1e6), "bounded",
			sprintf("%.2f ×", grouped["bf_agg(x)", n] / grouped["hll_add_agg", n]), "")
}
