/*
 * golden.h: reads the golden files. They were written by programs that share no code with the core.
 */
#ifndef STREAMBLOOM_TEST_GOLDEN_H
#define STREAMBLOOM_TEST_GOLDEN_H

#include "support.h"

#include <fstream>
#include <sstream>

namespace test {

inline std::string golden_text(const std::string &name)
{
	std::ifstream file(STREAMBLOOM_GOLDEN "/" + name, std::ios::binary);
	EXPECT_TRUE(file) << name;
	std::stringstream text;
	text << file.rdbuf();
	EXPECT_FALSE(text.str().empty()) << name;
	return text.str();
}

/* Returns the bytes that the file NAME.hex has as hexadecimal digits. */
inline Bytes golden_bytes(const std::string &name)
{
	std::string digits;
	for (char c : golden_text(name + ".hex"))
		if (c != '\n')
			digits += c;
	Bytes bytes(digits.size() / 2);
	for (size_t i = 0; i < bytes.size(); i++)
		bytes[i] = static_cast<unsigned char>(std::stoi(digits.substr(2 * i, 2), nullptr, 16));
	return bytes;
}

} // namespace test

#endif
