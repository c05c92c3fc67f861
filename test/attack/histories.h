/*
 * histories.h: runs random histories. In a history filters are made, changed at random, and compared with a model. The
 * seed (STREAMBLOOM_SEED) decides which histories these are. At least 20 of them run, and more for about a quarter of
 * STREAMBLOOM_SECONDS, but none after one has failed.
 */
#ifndef STREAMBLOOM_TEST_HISTORIES_H
#define STREAMBLOOM_TEST_HISTORIES_H

#include "support.h"

#include <chrono>
#include <cstdlib>

namespace test {

inline double setting(const char *name, double otherwise)
{
	const char *given = std::getenv(name);
	return given != nullptr && *given != 0 ? std::atof(given) : otherwise;
}

/*
 * Runs histories of one kind: at least 20, and for a quarter of the time, because there are four kinds. Expects that
 * they make at least `least` comparisons.
 */
template <typename History>
void run_histories(const char *what, uint64_t least, History history)
{
	const auto seed = static_cast<uint64_t>(setting("STREAMBLOOM_SEED", 1));
	const auto end = std::chrono::steady_clock::now() +
					 std::chrono::duration<double>(setting("STREAMBLOOM_SECONDS", 3) / 4);
	uint64_t compared = 0;
	uint64_t histories = 0;
	for (; !::testing::Test::HasFailure() && (histories < 20 || std::chrono::steady_clock::now() < end); histories++)
	{
		uint64_t number = seed * 1000000 + histories;
		SCOPED_TRACE(::testing::Message() << what << ", history " << number);
		Random random(number);
		history(random, &compared);
	}
	std::printf("%s: %llu histories, %llu comparisons, seed %llu\n", what, static_cast<unsigned long long>(histories),
				static_cast<unsigned long long>(compared), static_cast<unsigned long long>(seed));
	EXPECT_GE(compared, least);
}

inline uint64_t below(Random &random, uint64_t n)
{
	return random() % n;
}

} // namespace test

#endif
