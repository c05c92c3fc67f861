/*
 * sinner.cpp: what the core may not do, one sin a build, so that ctest can see no_runtime.cmake find it.
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
/* The class that sinner_again.cpp calls by the same name is another one. */
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
