# shellcheck shell=bash
# test-arm64.sh: the suite "arm64" of scripts/test. Compiles the core's unit tests, with the golden bytes among them,
# for a 64-bit ARM processor, and runs them by an emulator. So the tests show that values are stored there as they are
# here. Sourced by scripts/test.
# shellcheck disable=SC2154,SC2317

arm64_target=aarch64-linux-gnu

want_arm64() {
	want "g++-$arm64_target" command -v "$arm64_target-g++"
	want qemu-user command -v qemu-aarch64
	want cmake command -v cmake
	want libgtest-dev test -e /usr/src/googletest/CMakeLists.txt
	want libxxhash-dev has_header xxhash.h
	want binutils command -v readelf
}

# Builds for the ARM processor the library of xxHash with which the tests compare (from its header), and GoogleTest
# (from its source).
arm64_libraries() {
	local header
	header=$(g++ -E -x c++ - <<<'#include <xxhash.h>' | sed -n 's/^# [0-9]* "\(.*\/xxhash\.h\)".*/\1/p' | head -n 1)
	as_server mkdir -p "$arm64/usr/include" "$arm64/usr/lib" && as_server cp "$header" "$arm64/usr/include" \
		&& as_server "$arm64_target-gcc" -O2 -x c -DXXH_STATIC_LINKING_ONLY -DXXH_IMPLEMENTATION -c "$header" -o "$arm64/xxhash.o" \
		&& as_server "$arm64_target-ar" rcs "$arm64/usr/lib/libxxhash.a" "$arm64/xxhash.o" \
		&& as_server cmake -S /usr/src/googletest -B "$arm64/gtest" -DCMAKE_TOOLCHAIN_FILE="$arm64/toolchain.cmake" \
			-DBUILD_GMOCK=OFF -DCMAKE_INSTALL_PREFIX="$arm64/usr" \
		&& as_server cmake --build "$arm64/gtest" -j"$(nproc)" --target install
}

arm64() {
	local program arm64=$work/arm64 line test='^ *[0-9]+/[0-9]+ Test +#[0-9]+: (.*[^ .]) \.\.+ *(.*[^ ]) +[0-9.]+ sec$' found=0
	for program in "$arm64_target-g++" qemu-aarch64 cmake; do
		if ! command -v "$program" >/dev/null; then
			skip "there is no $program"
			return
		fi
	done
	as_server mkdir -p "$arm64"
	as_server tee "$arm64/toolchain.cmake" >/dev/null <<-CMAKE
		set(CMAKE_SYSTEM_NAME Linux)
		set(CMAKE_SYSTEM_PROCESSOR aarch64)
		set(CMAKE_C_COMPILER $arm64_target-gcc)
		set(CMAKE_CXX_COMPILER $arm64_target-g++)
		set(CMAKE_FIND_ROOT_PATH $arm64/usr)
		set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
		set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
		set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
		set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
		set(CMAKE_PREFIX_PATH /)
		set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/$arm64_target)
	CMAKE
	verdict 'xxHash and GoogleTest compile for the other processor' arm64_libraries
	verdict 'cmake configures the core' as_server cmake -S "$work/src" -B "$arm64/unit" -DCMAKE_TOOLCHAIN_FILE="$arm64/toolchain.cmake" \
		-DCMAKE_BUILD_TYPE=Release -DSTREAMBLOOM_BENCH=OFF
	verdict 'the core and its tests compile' as_server cmake --build "$arm64/unit" -j"$(nproc)"
	# The emulator takes about five times the processor time.
	while IFS= read -r line; do
		if [[ $line =~ $test ]]; then
			found=$((found + 1))
			case ${BASH_REMATCH[2]} in
			Passed) ok "${BASH_REMATCH[1]}" ;;
			*Skipped* | *Disabled*) skip "${BASH_REMATCH[1]}" ;;
			*) not_ok "${BASH_REMATCH[1]}: ${BASH_REMATCH[2]#\*\*\*}" ;;
			esac
		fi
	done < <(as_server ctest --test-dir "$arm64/unit" --exclude-regex '^unit_tests_on_portable_code$' --timeout 1800 -j"$(nproc)" 2>&1)
	((found > 0)) || not_ok 'CTest ran no test'
}
