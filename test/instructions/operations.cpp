/*
 * operations.cpp: runs the operations of the other files under callgrind, which counts the instructions of each. The
 * suite `instructions` of scripts/test compares the numbers with bounds.txt; README.md says how.
 *
 *   operations portable|avx2 [NAME ...]
 *
 * The first argument chooses the variant of the kernels. With avx2, only the operations that have such kernels run;
 * the status is 77 if the processor lacks the instructions. Each operation runs twice: the first run fills what the
 * core remembers between calls, the second run is counted. For each operation the program prints its name and the
 * number of items by which the instructions are divided. An operation whose result is wrong ends the program.
 */
#include "base/simd.hpp"
#include "operations.h"

using operations::Counter;
using operations::Operation;

int main(int argc, char **argv)
{
	const std::string variant = argc > 1 ? argv[1] : "";
	const bool avx2 = variant == "avx2";
	if (!avx2 && variant != "portable")
	{
		std::fprintf(stderr, "usage: operations portable|avx2 [NAME ...]\n");
		return 1;
	}
	const streambloom::sb_simd wanted = avx2 ? streambloom::SB_SIMD_AVX2 : streambloom::SB_SIMD_PORTABLE;
	if (streambloom::choose_simd(wanted) != wanted)
		return 77;
	const std::vector<std::string> chosen(argv + 2, argv + argc);
	std::vector<Operation> all = operations::of_bf;
	for (const auto *more : {&operations::of_tbf, &operations::of_streams, &operations::of_index})
		all.insert(all.end(), more->begin(), more->end());
	for (const Operation &operation : all)
	{
		if (avx2 && !operation.has_kernels)
			continue;
		if (!chosen.empty() && std::find(chosen.begin(), chosen.end(), operation.name) == chosen.end())
			continue;
		const std::string name = std::string(operation.name) + (avx2 ? "/avx2" : "");
		operation.run(Counter(name, false));
		operation.run(Counter(name, true));
	}
	return 0;
}
