/*
 * sinner.cpp: things that the core must not do. Each build of this file does one of them, so that ctest sees whether
 * no_runtime.cmake finds it. (What DEFINES_TWICE does must be found by one_definition.cmake.)
 */
#include <typeinfo>

#if defined(THROWS)
int sin(int x);
int sin(int x)
{
	try
	{
		if (x > 0)
			throw x;
	}
	catch (int)
	{
		return 1;
	}
	return 0;
}
#elif defined(ALLOCATES)
int *sin(int x);
int *sin(int x)
{
	return new int(x);
}
#elif defined(USES_RTTI)
struct thing
{
	int number;
};
const std::type_info &sin();
const std::type_info &sin()
{
	return typeid(thing);
}
#elif defined(DEFINES_TWICE)
/* sinner_again.cpp has another class with the same name. */
struct counter
{
	int count = 0;
	int next() { return ++count; }
	int same() { return count; }
};
int sin();
int sin()
{
	counter from;
	return from.next() + from.same();
}
#endif
