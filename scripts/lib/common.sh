# shellcheck shell=bash
# common.sh: what scripts/demo and scripts/test share: messages, the working directory, the user of the server.
# Sourced, never run. Needs `set -euo pipefail` in the caller.

repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export LC_ALL=C.UTF-8
# Whatever the caller's connections and makes are set to is not ours.
unset MAKEFLAGS MAKELEVEL MFLAGS PGHOST PGPORT PGUSER PGPASSWORD PGDATABASE PGSERVICE PGOPTIONS PGDATA

die() {
	printf '%s: %s\n' "$(basename "$0")" "$*" >&2
	exit 1
}

# The comment at the top of the calling script is its help text.
help() { sed -n '2,/^[^#]/{/^# shellcheck/d; s/^# \{0,1\}//p}' "$0"; }

# The folder of real data files: what STREAMBLOOM_DATA says, else ../shared/data beside the repository; empty if there is none.
if [[ -z ${STREAMBLOOM_DATA:-} && -d $repository/../shared/data ]]; then
	STREAMBLOOM_DATA=$repository/../shared/data
fi
if [[ -d ${STREAMBLOOM_DATA:-} ]]; then STREAMBLOOM_DATA=$(realpath "$STREAMBLOOM_DATA"); fi
export STREAMBLOOM_DATA=${STREAMBLOOM_DATA:-}

# ------------------------------------------------------------------- users

# PostgreSQL refuses to run as root: then the build, the server and the tests run as another user.
if ((EUID == 0)); then
	if id postgres >/dev/null 2>&1; then server_user=postgres; else server_user=nobody; fi
else
	server_user=$(id -un)
fi

# as_server COMMAND...: runs it in $work as the user that owns the build and the server.
as_server() {
	(
		cd "$work" || exit
		if ((EUID == 0)); then
			exec runuser -u "$server_user" -- env HOME="$work" TMPDIR="$work/tmp" "$@"
		fi
		exec env TMPDIR="$work/tmp" "$@"
	)
}

# ------------------------------------------------------- working directory

# make_work: sets $work to a new directory that as_server can write and that goes away when the script ends, with the
# server that runs in it. $TMPDIR says where, unless it is too long for the name of a socket or has spaces, which make
# does not take.
make_work() {
	local parent
	parent=$(realpath -- "${TMPDIR:-/tmp}")
	[[ ${#parent} -le 70 && $parent != *[[:space:]]* ]] || parent=/tmp
	# The package of the server makes its user: it may be there only now.
	if ((EUID == 0)) && id postgres >/dev/null 2>&1; then server_user=postgres; fi
	work=$(mktemp -d "$parent/streambloom.XXXXXX")
	trap clean_up EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	chmod 755 "$work"
	if ((EUID == 0)); then chown "$server_user" "$work"; fi
	as_server mkdir "$work/tmp" 2>/dev/null || die "the user $server_user cannot write in $work: set TMPDIR to a directory that all users can enter"
}

clean_up() {
	trap '' INT TERM HUP
	if [[ -n ${work:-} ]]; then
		if declare -F stop_cluster >/dev/null; then stop_cluster; fi
		# What scripts/lib/kept.sh keeps for the next run stays.
		if [[ -n ${kept:-} ]]; then
			find "$work" -mindepth 1 -maxdepth 1 "${kept[@]}" -exec rm -rf {} +
		else
			rm -rf "$work"
		fi
	fi
}

# run_logged LOG COMMAND...: quiet unless it fails; then the end of its output is shown.
run_logged() {
	local log=$1
	shift
	"$@" >"$log" 2>&1 && return
	local status=$?
	tail -n 40 "$log" >&2
	return "$status"
}
