/*
 * fuzz_main.cpp: runs a fuzz target without libFuzzer.
 *   fuzz_x [runs [seed [folder]]]   seeded mutations of valid inputs and of those in a folder, the same everywhere
 *   fuzz_x file ...                 these inputs again
 * If STREAMBLOOM_FUZZ_KEEP names a file, each mutation is written to it before it is run. So afterwards the file has
 * the one that has ended the program.
 */
#include "fuzz_support.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>

static fuzz::Input read_input(const std::filesystem::path &path)
{
	std::ifstream file(path, std::ios::binary);
	return fuzz::Input((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
}

int main(int argc, char **argv)
{
	if (argc > 1 && std::isdigit(static_cast<unsigned char>(argv[1][0])) == 0)
	{
		for (int i = 1; i < argc; i++)
		{
			fuzz::Input input = read_input(argv[i]);
			LLVMFuzzerTestOneInput(input.data(), input.size());
		}
		return 0;
	}

	uint64_t runs = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100000;
	uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
	const char *keep = std::getenv("STREAMBLOOM_FUZZ_KEEP");

	/* A pool of inputs, changed over and over: changes pile up, as they would in a corpus. */
	fuzz::Random random(seed);
	std::vector<fuzz::Input> pool(64);
	if (argc > 3)
	{
		std::vector<std::filesystem::path> files;
		for (const auto &entry : std::filesystem::directory_iterator(argv[3]))
			files.push_back(entry.path());
		std::sort(files.begin(), files.end());
		for (const auto &path : files)
		{
			pool.push_back(read_input(path));
			LLVMFuzzerTestOneInput(pool.back().data(), pool.back().size());
		}
		std::printf("%zu inputs of %s\n", files.size(), argv[3]);
		if (files.empty())
			return 1;
	}
	uint64_t accepted = 0;
	for (uint64_t run = 0; run < runs; run++)
	{
		fuzz::Input input = pool[random() % pool.size()];
		fuzz::mutate(&input, random);
		if (keep != nullptr)
			std::ofstream(keep, std::ios::binary)
				.write(reinterpret_cast<const char *>(input.data()), static_cast<std::streamsize>(input.size()));
		/*
		 * the target returns 0 for inputs that were accepted, -1 for those refused: only accepted inputs are worth
		 * changing further
		 */
		if (LLVMFuzzerTestOneInput(input.data(), input.size()) == 0)
		{
			accepted++;
			pool[random() % pool.size()] = input;
		}
	}
	std::printf("%llu of %llu inputs were valid values\n", static_cast<unsigned long long>(accepted),
				static_cast<unsigned long long>(runs));
	return accepted > runs / 100 ? 0 : 1;
}
