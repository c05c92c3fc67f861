/*
 * common.hpp: what all parts of the program need: the paper's sizes, the folder of the files, the random numbers, and
 * how numbers are written on the page.
 */
#ifndef PAPERS_COMMON_HPP
#define PAPERS_COMMON_HPP

#include "stable/stable.hpp"
#include "streambloom.h"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace papers {

inline constexpr uint64_t paper_bytes = 16384;
inline constexpr double paper_rate = 0.35; /* of the plain filter: Table II */
inline constexpr int top = 50;             /* importances are 0 .. 50 */

/* The arguments of the program: set once, by main(). */
inline std::string directory;
inline bool quick = false;

[[noreturn]] inline void die(const char *what)
{
	std::fprintf(stderr, "papers: %s\n", what);
	std::exit(1);
}

class Random
{
  public:
	explicit Random(uint64_t seed) : state_(seed) {}
	uint64_t operator()() { return streambloom::draw(&state_); }
	uint64_t below(uint64_t n) { return static_cast<uint64_t>((static_cast<sb_u128>((*this)()) * n) >> 64); }
	double uniform() { return static_cast<double>((*this)() >> 11) * 0x1p-53; }

  private:
	uint64_t state_;
};

inline std::string number(const char *format, double value)
{
	char text[64];
	std::snprintf(text, sizeof text, format, value);
	return text;
}

inline std::string percent(double share)
{
	return number("%.2f", 100 * share);
}

/* The number as text, with commas between the thousands. */
inline std::string many(uint64_t value)
{
	std::string text = std::to_string(value);
	for (size_t at = text.size(); at > 3;)
		text.insert(at -= 3, 1, ',');
	return text;
}

} // namespace papers

#endif
