/*
 * fuzz_mutator.cpp: what libFuzzer calls to change an input. Without it libFuzzer would have to guess a whole header
 * before it reaches any code behind the check of the header. (fuzz_main.cpp is its counterpart without libFuzzer.)
 */
#include "fuzz_support.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
	fuzz::Random random(seed);
	if (random() % 2 == 0)
		return LLVMFuzzerMutate(data, size, most);
	fuzz::Input input(data, data + size);
	fuzz::mutate(&input, random);
	const size_t taken = input.size() < most ? input.size() : most;
	if (taken != 0)
		std::memcpy(data, input.data(), taken);
	return taken;
}
