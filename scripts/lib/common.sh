# shellcheck shell=bash
# common.sh: what scripts/demo, scripts/test and others share: messages, the folder of real data, the working directory,
# the user of the server. Sourced, never run. The caller needs `set -euo pipefail`.

repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
export LC_ALL=C.UTF-8
# Variables of the caller for connections (PGHOST, PGTZ and so on; PG_CONFIG is none of these), for make and for cd
# must have no effect here.
unset CDPATH MAKEFLAGS MAKELEVEL MFLAGS
for name in $(compgen -e PG | grep -E '^PG[A-Z]+$'); do unset "$name"; done

die() {
	printf '%s: %s\n' "$(basename "$0")" "$*" >&2
	exit 1
}

# help: prints the comment at the top of the calling script.
help() { sed -n '2,/^[^#]/{/^# shellcheck/d; s/^# \{0,1\}//p}' "$0"; }

# The folder of real data files: $STREAMBLOOM_DATA if it is set, else ../shared/data beside the repository if that
# exists, else empty.
if [[ -z ${STREAMBLOOM_DATA:-} && -d $repository/../shared/data ]]; then
	STREAMBLOOM_DATA=$repository/../shared/data
fi
if [[ -d ${STREAMBLOOM_DATA:-} ]]; then STREAMBLOOM_DATA=$(realpath "$STREAMBLOOM_DATA"); fi
export STREAMBLOOM_DATA=${STREAMBLOOM_DATA:-}

# ------------------------------------------------------------------- users

# PostgreSQL refuses to run as root. For root, the build, the server and the tests run as another user.
if ((EUID == 0)); then
	if id postgres >/dev/null 2>&1; then server_user=postgres; else server_user=nobody; fi
else
	server_user=$(id -un)
fi

# as_server COMMAND...: runs the command in $work, as the user that owns the build and the server. A server that
# the command starts must not hold the lock of $work, because the server outlives a script that is killed.
as_server() {
	(
		cd "$work" || exit
		if [[ -n ${work_lock:-} ]]; then exec {work_lock}<&-; fi
		if ((EUID == 0)); then
			exec runuser -u "$server_user" -- env HOME="$work" TMPDIR="$work/tmp" "$@"
		fi
		exec env TMPDIR="$work/tmp" "$@"
	)
}

# ------------------------------------------------------- working directory

# make_work: makes a new directory that as_server can write to, and sets $work to it. When the script ends, the
# directory is removed and its server is stopped. It is made in $TMPDIR; in /tmp if the name of $TMPDIR is too long
# for a socket, or has spaces, which make does not allow.
make_work() {
	local parent
	parent=$(realpath -- "${TMPDIR:-/tmp}")
	[[ ${#parent} -le 70 && $parent != *[[:space:]]* ]] || parent=/tmp
	# The server's package makes the user postgres; it may just have been installed.
	if ((EUID == 0)) && id postgres >/dev/null 2>&1; then server_user=postgres; fi
	work=$(mktemp -d "$parent/streambloom.XXXXXX")
	trap clean_up EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	chmod 755 "$work"
	if ((EUID == 0)); then chown "$server_user" "$work"; fi
	lock_work || die "$work cannot be locked"
	touch "$work/locked"
	as_server mkdir "$work/tmp" 2>/dev/null || die "the user $server_user cannot write in $work: set TMPDIR to a directory that all users can enter"
}

# lock_work: locks $work until the script ends, however it ends. Fails if another script has locked it.
lock_work() {
	exec {work_lock}<"$work" && flock -n "$work_lock"
}

clean_up() {
	trap '' INT TERM HUP
	if [[ -n ${work:-} ]]; then
		if declare -F stop_cluster >/dev/null; then stop_cluster; fi
		# Files that scripts/lib/kept.sh keeps for the next run stay.
		if [[ -n ${kept:-} ]]; then
			find "$work" -mindepth 1 -maxdepth 1 "${kept[@]}" -exec rm -rf {} +
		else
			rm -rf "$work"
		fi
	fi
}

# run_logged LOG COMMAND...: prints nothing unless the command fails; then it shows the end of the output.
run_logged() {
	local log=$1
	shift
	"$@" >"$log" 2>&1 && return
	local status=$?
	tail -n 40 "$log" >&2
	return "$status"
}
