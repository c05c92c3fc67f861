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
	as_server env -C "$work/src" "${compiler[@]}" -std=c++20 -O2 -Wall -Wextra -Wshadow -Wconversion -Werror -Isrc/core \
		"$work"/src/test/instructions/*.cpp "${objects[@]}" -s -o "$work/instructions/operations"
}

instructions() {
	local line compiler base=()
	if [[ $(uname -m) != x86_64 ]]; then
		skip "the bounds are for x86_64, and this is $(uname -m)"
		return
	fi
	if ! command -v valgrind >/dev/null || ! has_header valgrind/callgrind.h; then
		skip 'there is no valgrind'
		return
	fi
	if [[ " $(make_variable CXXFLAGS) " != *' -O2 '* ]]; then
		skip 'the bounds are for -O2, and this PostgreSQL compiles extensions otherwise'
		return
	fi
	read -ra compiler <<<"$(make_variable CXX)"
	# The first column of bounds.txt is of this version of g++; clang++ prints a version with points.
	if [[ $("${compiler[@]}" -dumpversion) == 12 ]]; then base=(base); fi
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
		"$work/src/test/instructions/bounds.txt" "$work/instructions" "${base[@]}" 2>&1 || { status=$? && ((status == 1)) || printf 'FAIL the comparison ended with status %d\n' "$status"; })
}
