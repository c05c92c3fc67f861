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
#endif
