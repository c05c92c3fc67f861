# shellcheck shell=bash
# kept.sh: runs one test of scripts/test in a build that is kept for the next run, and removes such builds. Sourced
# after common.sh and packages.sh.
#
# $repository, $server_user and die come from common.sh, $PG_CONFIG from packages.sh.
# shellcheck disable=SC2154
#
# common.sh reads $kept.
# shellcheck disable=SC2034

# find_test NAME: prints "SUITE TEST", where TEST is the name by which the suite knows the test.
find_test() {
	local name=$1 file candidates=() suites=()
	name=${name#"$repository"/}
	case $name in
	*/*.*) candidates=("$repository/$name") ;;
	tap/*) candidates=("$repository/test/$name.pl") ;;
	attack/*) candidates=("$repository/test/$name"{,_*}.pl) ;;
	unit/*) candidates=("$repository/test/$name"{,_test}.cpp) ;;
	isolation/*) candidates=("$repository/test/isolation/specs/${name#*/}.spec") ;;
	regress/*) candidates=("$repository/sql/${name#*/}.sql") ;;
	*)
		candidates=("$repository/sql/$name.sql" "$repository/test/isolation/specs/$name.spec" "$repository/test/unit/$name.cpp"
			"$repository/test/tap/$name.pl" "$repository/test/attack/$name"{,_*}.pl)
		;;
	esac
	for file in "${candidates[@]}"; do
		[[ -f $file ]] || continue
		case ${file#"$repository"/} in
		sql/install/* | sql/updates/*) ;;
		sql/*.sql) suites+=("regress $(basename "$file" .sql)") ;;
		test/isolation/specs/*.spec) suites+=("isolation $(basename "$file" .spec)") ;;
		test/tap/*.pl) suites+=("tap $(basename "$file")") ;;
		test/attack/*.pl) suites+=("attack $(basename "$file")") ;;
		test/unit/*_test.cpp) suites+=("unit $(suites_of_unit_test "$file")") ;;
		esac
	done
	case ${#suites[@]} in
	1) printf '%s\n' "${suites[0]}" ;;
	0) die "there is neither a suite nor a test $name. See scripts/test --help" ;;
	*) die "there are several tests $name: $(printf '%s, ' "${suites[@]}" | sed 's/, $//; s/ /\//; s/, \([a-z]*\) /, \1\//g')" ;;
	esac
}

# The test suites of GoogleTest that a file defines, as alternatives of a regular expression.
suites_of_unit_test() { sed -n 's/^TYPED_TEST(\|^TEST[_FP]*(\([A-Za-z0-9_]*\),.*/\1/p' "$1" | sort -u | paste -sd'|'; }

kept_folder() {
	local parent
	parent=$(realpath -- "${TMPDIR:-/tmp}")
	[[ ${#parent} -le 60 && $parent != *[[:space:]]* ]] || parent=/tmp
	printf '%s/streambloom.kept.%s.%s' "$parent" "$EUID" "$(printf '%s' "$repository $1" | sha256sum | cut -c1-8)"
}

# make_kept_work: like make_work, but makes a folder that belongs to this repository and this PostgreSQL. The source
# and the unit tests stay in it, with all that was built of them. Only one run at a time can use it.
make_kept_work() {
	if ((EUID == 0)) && id postgres >/dev/null 2>&1; then server_user=postgres; fi
	local folder
	folder=$(kept_folder "$PG_CONFIG")
	if ! mkdir -m 755 "$folder" 2>/dev/null; then
		[[ -d $folder && ! -L $folder && $(stat -c %U "$folder") == "$server_user" ]] || die "$folder is not a folder of $server_user"
	elif ((EUID == 0)); then
		chown "$server_user" "$folder"
	fi
	work=$folder
	lock_work || { work='' && die "another scripts/test with a name is at work in $folder"; }
	kept=(! -name src ! -name unit)
	trap clean_up EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	# An earlier run that was killed may have left a server here.
	use_cluster
	clean_up
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	as_server mkdir "$work/tmp"
}

# remove_what_is_gone: removes from $work/src, the copy of the source, the files that the repository no longer has.
# Files that were built stay. But if any file is removed, the library and the install script are removed too, so that
# they are built again.
remove_what_is_gone() {
	local gone
	list_source() {
		(cd "$1" && find . \( -path ./.git -o -path ./build -o -path ./regress -o -path ./results -o -path ./tmp_check -o -path ./output_iso \) -prune \
			-o -type f ! -name '*.o' ! -name '*.bc' ! -name '*.so' ! -name 'streambloom*--*.sql' -print | sort)
	}
	gone=$(comm -13 <(list_source "$repository") <(list_source "$work/src"))
	[[ -n $gone ]] || return 0
	(cd "$work/src" && xargs -d '\n' rm -f streambloom.so streambloom--*.sql <<<"$gone")
}

# forget_kept_work: removes all kept folders of this user, of all repositories and versions, and the folders of runs
# that were killed. Stops servers that run in them. Folders that are in use stay.
forget_kept_work() {
	local parent server
	parent=$(dirname "$(kept_folder '')")
	for work in "$parent/streambloom.kept.$EUID."* "$parent"/streambloom.??????; do
		if [[ ! -d $work || -L $work || $(stat -c %U "$work") != "$server_user" ]]; then continue; fi
		# Older versions of the scripts locked only the kept folders. So another folder may be in use if it has no
		# `locked`.
		if [[ ${work##*/} != *.kept.* && ! -e $work/locked ]]; then continue; fi
		if lock_work; then
			server=$(find "$work/root" -path '*/bin/pg_ctl' 2>/dev/null | head -n 1 || true)
			if [[ -n $server ]]; then bin=$(dirname "$server") && stop_cluster; fi
			rm -rf "$work"
		else
			printf '%s is in use\n' "$work" >&2
		fi
		exec {work_lock}<&-
	done
	work='' work_lock=''
}
