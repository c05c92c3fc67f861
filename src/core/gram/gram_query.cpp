/*
 * gram_query.cpp: finds out which grams a pattern requires, and whether a text that has some of them can match
 * (sb_gram.h). gram_regex.cpp reads the patterns that are regular expressions.
 */
#include "gram/gram_program.hpp"

namespace streambloom {
namespace {

/*
 * Adds all characters as they are, since none has a special meaning, to the program's run: the characters that follow
 * each other in every matching text. Returns true if the work was interrupted.
 */
bool read_text(gram_program *program, const unsigned char *from, const unsigned char *end)
{
	stopping_points points(from);
	while (from < end)
	{
		if (points.wanted(from))
			return true;
		from += program->character(from, end);
	}
	return false;
}

/*
 * Adds to the program what a LIKE pattern requires. Returns false if LIKE would refuse the pattern. If the work was
 * interrupted, sets *stopped to true and returns false, too.
 */
bool read_like(gram_program *program, const unsigned char *from, const unsigned char *end, bool *stopped)
{
	stopping_points points(from);
	bool whole = true;
	program->beginning_of_text();
	while (from < end)
	{
		if (points.wanted(from))
		{
			*stopped = true;
			return false;
		}
		if (*from == '%' || *from == '_')
		{
			whole = false;
			program->break_run();
			from++;
			continue;
		}
		if (*from == '\\' && ++from == end)
			return false;
		from += program->character(from, end);
	}
	program->end_of_text(whole);
	return true;
}

/*
 * Adds to the program what the whole pattern requires. The steps that are added give one answer. Returns false if
 * nothing is known of the texts that match. If the work was interrupted, sets *stopped to true and returns false, too.
 */
bool read_pattern(gram_program *program, sb_gram_comparison comparison, const unsigned char *from,
				  const unsigned char *end, bool *stopped)
{
	const gram_program::place before = program->here();
	switch (comparison)
	{
		case SB_GRAM_EQUAL:
			program->beginning_of_text();
			*stopped = read_text(program, from, end);
			program->end_of_text(true);
			break;
		case SB_GRAM_STARTS_WITH:
			program->beginning_of_text();
			*stopped = read_text(program, from, end);
			break;
		case SB_GRAM_LIKE_ANY_CASE:
		case SB_GRAM_LIKE:
			if (!read_like(program, from, end, stopped))
				return false;
			break;
		case SB_GRAM_REGEX_ANY_CASE:
		case SB_GRAM_REGEX:
			return read_regex(program, from, end, stopped);
	}
	program->all(before);
	return !*stopped;
}

/* Runs the program and returns its answer. has(i) says whether gram i may be there. */
template <typename Has>
bool answer(const sb_gram_query *query, Has &&has)
{
	uint32_t top = 0;
	for (uint32_t i = 0; i < query->step_count; i++)
	{
		const uint32_t step = query->steps[i], joined = step & ~step_kind;
		if ((step & step_kind) == 0)
		{
			query->stack[top++] = has(step);
			continue;
		}
		/* A step that joins no answers requires nothing: so `all` and `any` both begin as true there. */
		bool all = true, any = joined == 0;
		for (uint32_t k = 0; k < joined; k++)
		{
			const bool answer = query->stack[--top];
			all &= answer;
			any |= answer;
		}
		query->stack[top++] = (step & step_kind) == step_all ? all : any;
	}
	return top == 0 || query->stack[0];
}

} // namespace
} // namespace streambloom

sb_status sb_gram_take_apart(const sb_gram_form *form, sb_gram_comparison comparison, const void *pattern, size_t size,
							 const sb_memory *memory, sb_gram_query *query) noexcept
{
	using namespace streambloom;
	const auto *from = static_cast<const unsigned char *>(pattern);
	*query = {};
	if (!form->fold && (comparison == SB_GRAM_LIKE_ANY_CASE || comparison == SB_GRAM_REGEX_ANY_CASE))
		return SB_OK;
	gram_program program(*form, size, memory);
	bool stopped = false;
	if (!read_pattern(&program, comparison, from, from + size, &stopped))
		return stopped ? SB_INTERRUPTED : SB_OK;
	if (program.failed())
		return SB_NO_MEMORY;
	auto *stack = static_cast<bool *>(memory->allocate(memory->context, program.step_count() + size_t{1}));
	if (stack == nullptr)
		return SB_NO_MEMORY;
	*query = program.finish(stack);
	if (query->gram_count == 0 || answer(query, [](uint32_t) { return false; }))
	{
		sb_gram_release(memory, query);
		*query = {};
	}
	return SB_OK;
}

void sb_gram_release(const sb_memory *memory, sb_gram_query *query) noexcept
{
	void *const blocks[] = {query->grams, query->steps, query->stack};
	for (void *block : blocks)
		if (block != nullptr)
			memory->release(memory->context, block);
}

bool sb_gram_can_match(const sb_gram_query *query, const signed char *there) noexcept
{
	return streambloom::answer(query, [=](uint32_t gram) { return there[gram] != 0; });
}
