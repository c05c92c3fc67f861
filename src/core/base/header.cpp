/*
 * header.cpp: the common part of a stored value's header, item kinds and the texts of statuses.
 */
#include "base/header.hpp"

#include "base/bits.hpp"

using namespace streambloom;

const char *sb_status_text(sb_status status) noexcept
{
	switch (status)
	{
		case SB_OK:
			return "no error";
		case SB_TRUNCATED:
			return "it is shorter than a header";
		case SB_BAD_MAGIC:
			return "it does not begin with the mark of a streambloom value";
		case SB_BAD_TYPE:
			return "it is a streambloom value of another type";
		case SB_BAD_VERSION:
			return "its format version is unknown to this version of streambloom";
		case SB_BAD_HEADER:
			return "a field of its header is out of range or contradicts another";
		case SB_BAD_LENGTH:
			return "its length does not agree with its header";
		case SB_BAD_CELLS:
			return "it has lines, cells or items that no filter can have";
		case SB_BAD_LIST:
			return "its list of hot items holds what no list can hold";
		case SB_OUT_OF_RANGE:
			return "a parameter is out of range";
		case SB_TOO_LARGE:
			return "the filter would be larger than 512,000,000 bytes";
		case SB_OVERFLOW:
			return "a counter would overflow";
		case SB_TOTAL_OVERFLOW:
			return "the total of all hits would overflow";
		case SB_DIFFERENT:
			return "the filters have different parameters";
		case SB_INTERRUPTED:
			return "the work was interrupted";
		case SB_NO_MEMORY:
			return "there is no more memory";
		case SB_NEED_BYTES:
			return "more bytes of it are needed";
	}
	return "unknown status";
}

bool sb_kind_equal(const sb_kind *a, const sb_kind *b) noexcept
{
	return a->code == b->code && a->detail == b->detail && std::memcmp(a->name, b->name, sizeof a->name) == 0;
}

/* Only text kinds and named kinds have a detail. Only named kinds have a name, a C string padded with zeros. */
static bool kind_is_valid(const sb_kind &kind)
{
	static constexpr char no_name[SB_KIND_NAME_SIZE] = {};

	if (kind.code > SB_KIND_NAMED)
		return false;
	if (kind.code == SB_KIND_NAMED)
	{
		size_t length = 0;
		while (length < SB_KIND_NAME_SIZE && kind.name[length] != 0)
			length++;
		if (length == 0 || length == SB_KIND_NAME_SIZE)
			return false;
		return std::memcmp(kind.name + length, no_name, SB_KIND_NAME_SIZE - length) == 0;
	}
	if (std::memcmp(kind.name, no_name, sizeof no_name) != 0)
		return false;
	return kind.code == SB_KIND_TEXT || kind.code == SB_KIND_CHARACTER || kind.detail == 0;
}

namespace streambloom {

void encode_common(void *out, value_type type, uint16_t flags, const sb_kind &kind)
{
	auto *bytes = static_cast<unsigned char *>(out);
	bytes[0] = 'S';
	bytes[1] = 'B';
	bytes[2] = static_cast<unsigned char>(type);
	bytes[3] = format_version;
	store_le(bytes + 4, flags);
	store_le(bytes + 6, kind.code);
	store_le(bytes + 8, kind.detail);
	std::memcpy(bytes + 12, kind.name, SB_KIND_NAME_SIZE);
}

sb_status decode_common(const void *data, size_t have, size_t header_size, value_type type, uint16_t known_flags,
						uint16_t *flags, sb_kind *kind)
{
	const auto *bytes = static_cast<const unsigned char *>(data);

	if (have < header_size)
		return SB_TRUNCATED;
	if (bytes[0] != 'S' || bytes[1] != 'B')
		return SB_BAD_MAGIC;
	if (bytes[2] != static_cast<unsigned char>(type))
		return SB_BAD_TYPE;
	if (bytes[3] != format_version)
		return SB_BAD_VERSION;

	*flags = load_le<uint16_t>(bytes + 4);
	kind->code = load_le<uint16_t>(bytes + 6);
	kind->detail = load_le<uint32_t>(bytes + 8);
	std::memcpy(kind->name, bytes + 12, SB_KIND_NAME_SIZE);
	if ((*flags & ~known_flags) != 0 || !kind_is_valid(*kind))
		return SB_BAD_HEADER;
	return SB_OK;
}

} // namespace streambloom
