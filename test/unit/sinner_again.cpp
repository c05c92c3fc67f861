/*
 * sinner_again.cpp: a second, different definition of a struct of sinner.cpp (DEFINES_TWICE), which breaks the
 * one-definition rule on purpose: one_definition.cmake has to find it.
 */
struct counter
{
	int count = 0;
	int next() { return count += count + 3; }
	int same() { return count; }
};
int sin_again();
int sin_again()
{
	counter from;
	return from.next() + from.same();
}
