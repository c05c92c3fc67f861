/*
 * gram_regex.cpp: finds the grams that a text must have to match an advanced regular expression of PostgreSQL
 * (regex/re_syntax: "ARE").
 *
 * It reads the expression by recursive descent. If a part is not understood, the whole expression is given up, and
 * nothing is required. These parts are not understood:
 *  - a backward reference; more than 100 nested parentheses; a count above 255;
 *  - an escape for a character, such as \x41, outside a set (except \t, \n, \r, \f and \v); \c in a set;
 *  - an option that changes the syntax or the meaning of a newline; the option i if the grams are not folded;
 *  - most of what PostgreSQL refuses as an error.
 *
 * The rest is read like this:
 *  - Characters that follow each other are a run. Each gram of the run is required.
 *  - A part that may be missing (*, ?, {0,...}) requires nothing and ends the run.
 *  - A repeated character (+, {2}) is the last one of the run before it, and also the first one of the run behind it.
 *  - Of several alternatives (a|b|c) one must be there. A group in parentheses is *joined* with its neighbours if it
 *    has up to 16 alternatives, no quantifier (such as * or {2}), and neither parentheses nor sets inside. Then each
 *    alternative continues the run before the group and goes on with the characters behind the group.
 *  - Any other group has runs of its own: no run crosses its beginning or its end.
 *  - A set such as [abc], of up to 16 characters and without a quantifier, is read like alternatives that are joined. A
 *    set whose characters all fold to the same one, such as [aA], is read like this character, also with a quantifier.
 *    Any other set ends the run and requires nothing: a set of more characters, a set of different characters with a
 *    quantifier, or a set that begins with ^ or has a hyphen, a class or an escape.
 *  - ^, \A, $ and \Z become the marks of the text's beginning and end: newlines do not end lines unless an option
 *    says so.
 *  - A dot, a class such as \d, and a constraint (\m, a lookahead, a lookbehind) end the run and require nothing.
 */
#include "gram/gram_program.hpp"

namespace streambloom {
namespace {

/* An expression with more nested parentheses is not understood, because the stack is limited. */
constexpr int most_parentheses = 100;

constexpr bool is_digit(unsigned char c)
{
	return c >= '0' && c <= '9';
}
constexpr bool is_letter(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/*
 * The most alternatives, or characters of a set, that are joined with the characters beside them. There is a limit
 * because each alternative takes grams of its own.
 */
constexpr int most_joined = 16;

/* How often an atom (a character, a set, a group, ...) occurs: once, not always, or at least once. */
enum class quantity
{
	once,
	perhaps,
	repeatedly
};

class regex_reader
{
public:
	regex_reader(gram_program *program, const unsigned char *from, const unsigned char *end)
		: program_(program), at_(from), end_(end), points_(from)
	{
	}

	/* Reads the whole expression. Returns false if it is not understood. */
	bool read()
	{
		bool literal = false;
		if (!read_director(&literal))
			return false;
		if (literal)
		{
			const gram_program::place before = program_->here();
			while (at_ < end_)
			{
				if (must_stop())
					return false;
				at_ += program_->character(at_, end_);
			}
			program_->all(before);
			return true;
		}
		return read_alternatives(0) && at_ == end_;
	}
	bool stopped() const { return stopped_; }

private:
	bool must_stop()
	{
		stopped_ |= points_.wanted(at_);
		return stopped_;
	}
	bool at(char c) const { return at_ < end_ && *at_ == static_cast<unsigned char>(c); }
	bool take(char c)
	{
		if (!at(c))
			return false;
		at_++;
		return true;
	}
	bool take(const char *text)
	{
		const size_t size = std::strlen(text);
		if (static_cast<size_t>(end_ - at_) < size || std::memcmp(at_, text, size) != 0)
			return false;
		at_ += size;
		return true;
	}

	/*
	 * Reads what may stand before an expression: "***=" (then *literal becomes true, and the rest is plain text),
	 * "***:", and options such as "(?i)". Returns false if it is not understood.
	 */
	bool read_director(bool *literal)
	{
		if (take("***"))
		{
			*literal = take('=');
			if (*literal)
				return true;
			if (!take(':'))
				return false;
		}
		if (at_ + 2 < end_ && at_[0] == '(' && at_[1] == '?' && is_letter(at_[2]))
		{
			at_ += 2;
			while (at_ < end_ && is_letter(*at_))
			{
				/* i needs folded grams; c, s, t change no gram; others change the syntax, or what a newline means. */
				if (*at_ != 'c' && *at_ != 's' && *at_ != 't' && !(*at_ == 'i' && program_->form().fold))
					return false;
				at_++;
			}
			return take(')');
		}
		return true;
	}

	/*
	 * Reads alternatives up to a closing parenthesis or the end. Adds their grams to the program, and steps that push
	 * one answer for all alternatives. If the alternatives are a group that is joined (see the head of this file),
	 * `behind` is the byte after its closing parenthesis. Then each alternative continues the run before the group, and
	 * the characters at `behind` follow each alternative. If `behind` is NULL, the alternatives have runs of their own.
	 */
	bool read_alternatives(int depth, const unsigned char *behind = nullptr)
	{
		const gram_program::place before = program_->here();
		const gram_roller run = program_->run();
		do
		{
			const gram_program::place branch = program_->here();
			program_->begin_branch();
			if (behind != nullptr)
				program_->continue_run(run);
			else
				program_->break_run();
			if (!read_branch(depth))
				return false;
			if (behind != nullptr)
				read_beside(behind);
			program_->break_run();
			program_->all(branch);
		} while (take('|'));
		program_->any(before);
		return true;
	}

	/*
	 * Adds the characters at `from`, which follow an alternative, to its run. A gram of n characters has at most n - 1
	 * besides one of the alternative, so no more are added. Stops at the first character that has a special meaning or
	 * a quantifier; but $ adds the mark of the end. at_ stays as it is, so these characters are read again later.
	 */
	void read_beside(const unsigned char *from)
	{
		const unsigned char *const before = at_;
		at_ = from;
		for (uint32_t i = 1; i < program_->form().length && at_ < end_; i++)
		{
			if (at('$'))
			{
				at_++;
				if (!quantifier_follows())
					program_->end_of_text(false);
				break;
			}
			const bool escaped = take('\\');
			if (escaped && (at_ == end_ || is_letter(*at_) || is_digit(*at_)))
				break;
			if (!escaped && std::strchr("^.[]()*+?{|", static_cast<char>(*at_)) != nullptr)
				break;
			const unsigned char *const character = at_;
			at_ += bytes_of(at_);
			if (quantifier_follows())
				break;
			program_->character(character, end_);
		}
		at_ = before;
	}

	/*
	 * To be called behind the opening parenthesis of a group. Returns the byte after the group's closing parenthesis if
	 * the group can be joined with its neighbours (see the head of this file), else nullptr.
	 */
	const unsigned char *behind_joined() const
	{
		int alternatives = 1;
		for (const unsigned char *p = at_; p < end_; p++)
		{
			if (*p == '(' || *p == '[' || (*p == '|' && ++alternatives > most_joined))
				return nullptr;
			if (*p == ')')
				return quantifier_follows(p + 1) ? nullptr : p + 1;
			if (*p == '\\')
				p++;
		}
		return nullptr;
	}

	bool read_branch(int depth)
	{
		while (at_ < end_ && *at_ != '|' && *at_ != ')')
		{
			if (must_stop() || !read_atom(depth))
				return false;
		}
		/* A closing parenthesis that was not opened is an error. */
		return depth > 0 || at_ == end_ || *at_ == '|';
	}

	bool read_atom(int depth)
	{
		switch (*at_)
		{
			case '^':
				at_++;
				program_->beginning_of_text();
				return !quantifier_follows();
			case '$':
				at_++;
				program_->end_of_text(false);
				return !quantifier_follows();
			case '(':
				return read_group(depth);
			case '[':
				return read_bracket();
			case '\\':
				return read_escape();
			case '.':
				at_++;
				return read_unknown_atom();
			case '*':
			case '+':
			case '?':
				return false;
			case '{':
				/* If no digit follows, the brace is an ordinary character. */
				if (at_ + 1 < end_ && is_digit(at_[1]))
					return false;
				break;
			default:
				break;
		}
		const unsigned char *from = at_;
		size_t bytes;
		if (program_->form().text == SB_GRAM_UTF8)
			next_of_utf8(at_, end_, &bytes);
		else
			bytes = 1;
		at_ += bytes;
		return read_literal_atom(from);
	}

	bool quantifier_follows() const { return quantifier_follows(at_); }
	bool quantifier_follows(const unsigned char *p) const
	{
		return p < end_ && (*p == '*' || *p == '+' || *p == '?' || (*p == '{' && p + 1 < end_ && is_digit(p[1])));
	}

	bool read_number(uint32_t *number)
	{
		*number = 0;
		if (at_ == end_ || !is_digit(*at_))
			return false;
		while (at_ < end_ && is_digit(*at_))
		{
			*number = *number * 10 + (*at_ - uint32_t{'0'});
			if (*number > 255)
				return false;
			at_++;
		}
		return true;
	}

	bool read_quantifier(quantity *quantity)
	{
		*quantity = quantity::once;
		if (!quantifier_follows())
			return true;
		if (take('*') || take('?'))
			*quantity = quantity::perhaps;
		else if (take('+'))
			*quantity = quantity::repeatedly;
		else
		{
			uint32_t least, most;
			at_++;
			if (!read_number(&least))
				return false;
			most = least;
			if (take(','))
			{
				most = 255;
				if (!at('}') && !read_number(&most))
					return false;
			}
			/* {3,1} is an error. */
			if (!take('}') || least > most)
				return false;
			*quantity = least == 0 ? quantity::perhaps : quantity::repeatedly;
		}
		take('?');
		/* a** is an error. */
		return !quantifier_follows();
	}

	/* To be called after an atom that requires nothing. Ends the run, and reads the atom's quantifier if it has one. */
	bool read_unknown_atom()
	{
		quantity quantity;
		program_->break_run();
		return read_quantifier(&quantity);
	}

	/*
	 * To be called after an atom that is one character. Reads its quantifier. Adds the character to the run; but if the
	 * character may be missing, only ends the run.
	 */
	bool read_literal_atom(const unsigned char *character)
	{
		quantity quantity;
		if (!read_quantifier(&quantity))
			return false;
		switch (quantity)
		{
			case quantity::once:
				program_->character(character, end_);
				break;
			case quantity::perhaps:
				program_->break_run();
				break;
			case quantity::repeatedly:
				program_->character(character, end_);
				program_->break_run();
				program_->character(character, end_);
				break;
		}
		return true;
	}

	bool read_group(int depth)
	{
		const gram_program::place before = program_->here();
		bool constraint = false;
		quantity quantity;

		at_++;
		if (depth == most_parentheses)
			return false;
		if (take('?') && !take(':'))
		{
			/*
			 * Lookahead and lookbehind match no text of their own, and the text after ! must not be there. So they
			 * require nothing.
			 */
			constraint = true;
			take('<');
			if (!take('=') && !take('!'))
				return false;
		}
		if (!read_alternatives(depth + 1, constraint ? nullptr : behind_joined()) || !take(')') ||
			!read_quantifier(&quantity))
			return false;
		program_->break_run();
		if (constraint || quantity == quantity::perhaps)
			program_->back_to(before);
		return true;
	}

	/*
	 * Reads a set of characters. A set that begins with ^, or has a hyphen, a class or an escape, is read like a dot.
	 * If all characters of another set fold to the same one, it is read like that character. If not, it is read like
	 * alternatives if it has up to most_joined characters and no quantifier, and otherwise like a dot.
	 */
	bool read_bracket()
	{
		const unsigned char *characters[most_joined];
		const unsigned char *last = nullptr;
		int count = 0;
		bool unknown = false;

		at_++;
		if (take('^'))
			unknown = true;
		for (bool first = true; first || !at(']'); first = false)
		{
			if (must_stop())
				return false;
			/* Classes such as [:alpha:] and escapes make the set too complex to read here. */
			if (at_ == end_ || *at_ == '\\' ||
				(*at_ == '[' && at_ + 1 < end_ && (at_[1] == '.' || at_[1] == '=' || at_[1] == ':')))
				return read_complex_bracket();
			/* [z-a] is an error. */
			if (*at_ == '-' && last != nullptr && at_ + 1 < end_ && at_[1] != ']' &&
				character_at(last) > character_at(at_ + 1))
				return false;
			last = at_;
			if (*at_ == '-' || count == most_joined)
				unknown = true;
			else if (count == 0 || !same_folded(characters[count - 1], at_))
				characters[count++] = at_;
			at_ += bytes_of(at_);
		}
		at_++;
		if (unknown || (count > 1 && quantifier_follows()))
			return read_unknown_atom();
		if (count == 1)
			return read_literal_atom(characters[0]);
		join_characters(characters, count);
		return true;
	}

	/* Adds alternatives: one of these characters comes next, and what is at at_ follows. */
	void join_characters(const unsigned char *const *characters, int count)
	{
		const gram_program::place before = program_->here();
		const gram_roller run = program_->run();
		for (int i = 0; i < count; i++)
		{
			const gram_program::place branch = program_->here();
			program_->begin_branch();
			program_->continue_run(run);
			program_->character(characters[i], end_);
			read_beside(at_);
			program_->all(branch);
		}
		program_->break_run();
		program_->any(before);
	}

	/* Skips the rest of a set that is read like a dot: which characters it has does not matter, only where it ends. */
	bool read_complex_bracket()
	{
		while (at_ < end_ && *at_ != ']')
		{
			if (must_stop())
				return false;
			if (*at_ == '\\')
			{
				at_++;
				/* Any character can follow \c, also the ] that would end the set. */
				if (at_ == end_ || *at_ == 'c')
					return false;
			}
			else if (*at_ == '[' && at_ + 1 < end_ && (at_[1] == '.' || at_[1] == '=' || at_[1] == ':'))
			{
				const unsigned char delimiter = at_[1];
				at_ += 2;
				const unsigned char *const name = at_;
				while (at_ + 1 < end_ && !(at_[0] == delimiter && at_[1] == ']'))
				{
					if (must_stop())
						return false;
					at_++;
				}
				if (at_ + 1 >= end_ || (delimiter == ':' && !is_class(name, at_)))
					return false;
				at_++;
			}
			at_++;
		}
		if (!take(']'))
			return false;
		return read_unknown_atom();
	}

	/* Is this the name of a class of characters, as in [:alpha:]? Another name is an error. */
	static bool is_class(const unsigned char *name, const unsigned char *end)
	{
		static constexpr const char *classes[] = {"alnum", "alpha", "ascii", "blank", "cntrl", "digit",	 "graph",
												  "lower", "print", "punct", "space", "upper", "xdigit", "word"};
		const auto size = static_cast<size_t>(end - name);
		for (const char *each : classes)
			if (std::strlen(each) == size && std::memcmp(each, name, size) == 0)
				return true;
		return false;
	}

	/* Returns the character at `from`: a code point, or a byte if the encoding is not UTF-8. */
	uint32_t character_at(const unsigned char *from) const
	{
		size_t bytes;
		return program_->form().text == SB_GRAM_UTF8 ? next_of_utf8(from, end_, &bytes) : *from;
	}

	size_t bytes_of(const unsigned char *character) const
	{
		size_t bytes = 1;
		if (program_->form().text == SB_GRAM_UTF8)
			next_of_utf8(character, end_, &bytes);
		return bytes;
	}

	bool same_folded(const unsigned char *a, const unsigned char *b) const
	{
		uint32_t folded[2][4] = {};
		const unsigned char *characters[2] = {a, b};
		for (int i = 0; i < 2; i++)
		{
			int count = 0;
			emit_character_of(program_->form(), characters[i], end_, [&](uint32_t each) { folded[i][count++] = each; });
		}
		return std::memcmp(folded[0], folded[1], sizeof folded[0]) == 0;
	}

	bool read_escape()
	{
		at_++;
		if (at_ == end_)
			return false;
		const unsigned char c = *at_;
		static const unsigned char controls[] = "\t\n\r\f\v";
		if (!is_letter(c) && !is_digit(c))
		{
			const unsigned char *from = at_;
			at_ += bytes_of(at_);
			return read_literal_atom(from);
		}
		at_++;
		switch (c)
		{
			case 't':
				return read_control(&controls[0]);
			case 'n':
				return read_control(&controls[1]);
			case 'r':
				return read_control(&controls[2]);
			case 'f':
				return read_control(&controls[3]);
			case 'v':
				return read_control(&controls[4]);
			case 'd':
			case 's':
			case 'w':
			case 'D':
			case 'S':
			case 'W':
				return read_unknown_atom();
			case 'A':
				program_->beginning_of_text();
				return !quantifier_follows();
			case 'Z':
				program_->end_of_text(false);
				return !quantifier_follows();
			case 'm':
			case 'M':
			case 'y':
			case 'Y':
				program_->break_run();
				return !quantifier_follows();
			default:
				/* characters given by number, and backward references, are not understood */
				return false;
		}
	}

	/*
	 * To be called after an atom that is a control character. `control` is one byte outside the pattern, so for a
	 * moment end_ is the byte after it.
	 */
	bool read_control(const unsigned char *control)
	{
		const unsigned char *end = end_;
		quantity quantity;
		if (!read_quantifier(&quantity))
			return false;
		end_ = control + 1;
		if (quantity != quantity::perhaps)
			program_->character(control, end_);
		if (quantity != quantity::once)
			program_->break_run();
		if (quantity == quantity::repeatedly)
			program_->character(control, end_);
		end_ = end;
		return true;
	}

	gram_program *program_;
	const unsigned char *at_, *end_;
	stopping_points points_;
	bool stopped_ = false;
};

} // namespace

bool read_regex(gram_program *program, const unsigned char *from, const unsigned char *end, bool *stopped)
{
	regex_reader reader(program, from, end);
	const bool understood = reader.read();
	*stopped = reader.stopped();
	return understood;
}

} // namespace streambloom
