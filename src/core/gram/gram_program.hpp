/*
 * gram_program.hpp: builds the program of an sb_gram_query while a pattern is read from left to right.
 */
#ifndef STREAMBLOOM_GRAM_PROGRAM_HPP
#define STREAMBLOOM_GRAM_PROGRAM_HPP

#include <cstring>

#include "gram/gram_text.hpp"

namespace streambloom {

/*
 * The steps of the program (see sb_gram_query). A step below step_all is the number of a gram, and pushes the answer
 * for this gram. step_all + n joins the n topmost answers into one that is true if all of them are; step_any + n joins
 * them into one that is true if any of them is. step_kind has the two bits that tell these steps apart.
 */
inline constexpr uint32_t step_all = 0x40000000, step_any = 0x80000000, step_kind = 0xc0000000;

/*
 * If a pattern has fewer bytes than this, all its grams are taken. Of a longer pattern only every second, third, ...
 * gram is taken, so that about most_grams are taken at most, evenly over the pattern. A regular expression with many
 * sets or alternatives may give many more, some ten thousand at most, for two reasons: the characters beside a set or a
 * group are read again for each of its alternatives, and the first grams of each alternative are always taken (see
 * grams_of_branch).
 */
inline constexpr size_t most_grams = 768;

/*
 * If no gram of an alternative were taken, this alternative would require nothing. Then all the alternatives together
 * would require nothing, as a text need match only one of them. So the first grams_of_branch grams of each alternative
 * are taken even if the pattern is long, until the program has most_grams_of_branches grams.
 */
inline constexpr uint32_t grams_of_branch = 4, most_grams_of_branches = 8192;

/* An array of items that grows as they are added. push() returns false if there is no memory. */
template <typename T>
class growing
{
public:
	explicit growing(const sb_memory *memory) : memory_(memory) {}
	growing(const growing &) = delete;
	growing &operator=(const growing &) = delete;
	~growing() { release(items_); }
	bool push(T value)
	{
		if (count_ == room_)
		{
			const uint32_t room = room_ == 0 ? 64 : room_ * 2;
			auto *items = static_cast<T *>(memory_->allocate(memory_->context, room * sizeof(T)));
			if (items == nullptr)
				return false;
			if (count_ > 0)
				std::memcpy(items, items_, count_ * sizeof(T));
			release(items_);
			items_ = items;
			room_ = room;
		}
		items_[count_++] = value;
		return true;
	}
	void cut(uint32_t count) { count_ = count; }
	uint32_t count() const { return count_; }

	/* Returns the items, which the caller must release. The list is empty afterwards. */
	T *take()
	{
		T *items = items_;
		items_ = nullptr;
		count_ = room_ = 0;
		return items;
	}

private:
	void release(T *items)
	{
		if (items != nullptr)
			memory_->release(memory_->context, items);
	}

	const sb_memory *memory_;
	T *items_ = nullptr;
	uint32_t count_ = 0, room_ = 0;
};

/*
 * The program while it is built. A *run* is a sequence of characters that follow each other in every matching text. For
 * each gram of a run that is taken, the program gets a step that pushes an answer; all() and any() add steps that join
 * answers. If memory runs out, failed() is true, and the program is of no use.
 */
class gram_program
{
public:
	gram_program(const sb_gram_form &form, size_t pattern_size, const sb_memory *memory)
		: form_(form), roller_(form.length), grams_(memory), steps_(memory), one_of_(pattern_size / most_grams + 1)
	{
	}

	/* A state of the program, from here(). back_to() forgets all that was added since then, and begins a new run. */
	struct place
	{
		uint32_t grams, steps, answers;
		uint32_t surely_taken;
		size_t seen;
	};
	place here() const { return {grams_.count(), steps_.count(), answers_, surely_taken_, seen_}; }
	void back_to(const place &before)
	{
		break_run();
		grams_.cut(before.grams);
		steps_.cut(before.steps);
		answers_ = before.answers;
		surely_taken_ = before.surely_taken;
		seen_ = before.seen;
	}

	/* Ends the run: the next character does not directly follow the last one. */
	void break_run() { roller_.begin_run(); }

	/* Begins an alternative, of which the first grams are always taken (see grams_of_branch). */
	void begin_branch() { surely_taken_ = grams_.count() < most_grams_of_branches ? grams_of_branch : 0; }

	/*
	 * run() returns the end of the present run, from which the next gram is made. continue_run() goes back to it, so
	 * that several alternatives can follow the same run.
	 */
	const gram_roller &run() const { return roller_; }
	void continue_run(const gram_roller &run) { roller_ = run; }

	void beginning_of_text()
	{
		break_run();
		push(mark_of_beginning);
	}
	/* Ends the run at the end of the text. `whole` says that the run has all characters of the text. */
	void end_of_text(bool whole)
	{
		push(mark_of_end);
		if (whole && roller_.count() < form_.length)
			add(roller_.gram_of_short_text());
		break_run();
	}

	/* Adds the character that begins at `from`. Returns the number of its bytes. */
	size_t character(const unsigned char *from, const unsigned char *end)
	{
		return emit_character_of(form_, from, end, [this](uint32_t each) { push(each); });
	}

	/*
	 * all() and any() join the answers that were pushed since `before` into one. all(): each of them must be true.
	 * any(): one of them is enough. If none was pushed, the joined answer is always true: nothing is required.
	 */
	void all(const place &before) { join(before, step_all); }
	void any(const place &before) { join(before, step_any); }

	const sb_gram_form &form() const { return form_; }
	bool failed() const { return failed_; }

	/* Returns the program. `stack` has room for its answers: at least one for each step. */
	sb_gram_query finish(bool *stack)
	{
		const uint32_t gram_count = grams_.count(), step_count = steps_.count();
		return {grams_.take(), gram_count, steps_.take(), step_count, stack};
	}
	uint32_t step_count() const { return steps_.count(); }

private:
	void push(uint32_t character)
	{
		if (gram_roller::can_swallow(form_.text, form_.fold) && roller_.swallows(character))
			return;
		if (!roller_.push(character))
			return;
		seen_++;
		if (surely_taken_ > 0)
		{
			surely_taken_--;
			seen_ = 0;
		}
		if (seen_ % one_of_ == 0)
			add(roller_.gram());
	}
	void add(uint64_t gram)
	{
		if (!step(grams_.count()) || !grams_.push(gram))
			failed_ = true;
		answers_++;
	}
	bool step(uint32_t which)
	{
		if (!steps_.push(which))
			failed_ = true;
		return !failed_;
	}
	void join(const place &before, uint32_t kind)
	{
		const uint32_t joined = answers_ - before.answers;
		if (joined == 1)
			return;
		step(kind | joined);
		answers_ = before.answers + 1;
	}

	sb_gram_form form_;
	gram_roller roller_;
	growing<uint64_t> grams_;
	growing<uint32_t> steps_;
	size_t one_of_, seen_ = 0;
	uint32_t surely_taken_ = 0; /* how many of the next grams are always taken */
	uint32_t answers_ = 0;
	bool failed_ = false;
};

/*
 * Reads an advanced regular expression and pushes one answer for all of it. Returns false if the expression is not
 * understood: then nothing is known of the texts that match. If the work was interrupted, it returns false and
 * *stopped is true.
 */
bool read_regex(gram_program *program, const unsigned char *from, const unsigned char *end, bool *stopped);

} // namespace streambloom

#endif
