# shellcheck shell=bash
# test-instructions.sh: the suite "instructions" of scripts/test. Counts the processor's instructions of some operations
# of the core, and compares them with bounds (test/instructions/README.md). Sourced by scripts/test.
# shellcheck disable=SC2154,SC2317

want_instructions() { if [[ $(uname -m) == x86_64 ]]; then want valgrind has_header valgrind/callgrind.h; fi; }

# compile_operations: links the program with the objects of the extension itself, so that what is counted is what users
# run. They are compiled here if the extension has not been built yet. The program has no symbols (-s): callgrind needs
# none, and valgrind 3.19 cannot read those of clang++ 14.
compile_operations() {
	local objects
	mapfile -t objects < <(cd "$work/src" && printf '%s\n' src/core/*/*.cpp | sed 's/cpp$/o/')
	make_extension -s "${objects[@]}" || return
	as_server env -C "$work/src" "${compile[@]}" -std=c++20 -O2 -Wall -Wextra -Wshadow -Wconversion -Werror -Isrc/core \
		"$work"/src/test/instructions/*.cpp "${objects[@]}" -s -o "$work/instructions/operations"
}

# Valgrind may be installed and still not run. Then it prints why. Where a process may open very many files, as in some
# containers, it would not start. So the limit is lowered before.
valgrind_runs() { as_server bash -c 'ulimit -Sn 1024 && exec valgrind --quiet --tool=callgrind --callgrind-out-file=/dev/null true' 2>&1; }

# Which numbers of bounds.txt are this compiler's: "base", the first column; "measured", the bounds hold; "other", nobody
# has counted with it.
compiler_of_bounds() {
	local version family=g++
	version=$("$@" -dumpversion)
	if [[ $("$@" --version | head -n 1) == *clang* ]]; then family=clang++; fi
	case "$family ${version%%.*}" in
	'g++ 12') printf 'base' ;;
	'g++ 11' | 'g++ 14' | 'g++ 16' | 'clang++ 14') printf 'measured' ;;
	*) printf 'other' ;;
	esac
}

instructions() {
	local line compiler said
	if [[ $(uname -m) != x86_64 ]]; then
		skip "the bounds are for x86_64, and this is $(uname -m)"
		return
	fi
	if ! command -v valgrind >/dev/null || ! has_header valgrind/callgrind.h; then
		skip 'there is no valgrind'
		return
	fi
	if ! said=$(valgrind_runs); then
		skip "valgrind does not run: ${said//$'\n'/ }"
		return
	fi
	said=" $(make_variable CXXFLAGS) "
	if [[ $said != *' -O2 '* || $said == *' -march='* || $said == *' -O3 '* || $said == *' -flto'* ]]; then
		skip 'the bounds are for -O2 alone, and this PostgreSQL compiles extensions otherwise'
		return
	fi
	read -ra compile <<<"$(make_variable CXX)"
	as_server rm -rf "$work/instructions"
	as_server mkdir "$work/instructions"
	verdict 'the operations compile' compile_operations
	[[ -x $work/instructions/operations ]] || return 0
	while IFS= read -r line; do
		case $line in
		'ok '*) ok "${line#ok }" ;;
		'FAIL '*) not_ok "${line#FAIL }" ;;
		'skip '*) skip "${line#skip }" ;;
		*) indent <<<"$line" ;;
		esac
	done < <(as_server perl "$work/src/test/instructions/compare.pl" "$work/instructions/operations" \
		"$work/src/test/instructions/bounds.txt" "$work/instructions" "$(compiler_of_bounds "${compile[@]}")" 2>&1 || { status=$? && ((status == 1)) || printf 'FAIL the comparison ended with status %d\n' "$status"; })
}
