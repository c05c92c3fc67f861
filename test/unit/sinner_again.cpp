/*
 * sinner_again.cpp: the second definition for the sin DEFINES_TWICE of sinner.cpp.
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
