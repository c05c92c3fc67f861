/*
 * stop.cpp: see stop.hpp.
 */
#include "base/stop.hpp"

namespace streambloom {

sb_stop_function stop_function = nullptr;

} // namespace streambloom

void sb_set_stop(sb_stop_function stop) noexcept
{
	streambloom::stop_function = stop;
}
