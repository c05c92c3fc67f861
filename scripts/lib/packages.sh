# shellcheck shell=bash
# packages.sh: finds PostgreSQL and installs what is missing, with apt-get. Sourced after common.sh.
#
# Each package is wanted for a program, a header or another file. If this exists already, wherever it came from, the
# package is not installed. If the caller has set PG_CONFIG, neither a server nor its headers are installed.

oldest_postgresql=15

# can_build PG_CONFIG: succeeds if the server's headers and PGXS are there. (Debian's postgresql-NN has a pg_config and
# the makefiles, but no header.)
can_build() { [[ -f $("$1" --pgxs) && -f $("$1" --includedir-server)/postgres.h ]]; } 2>/dev/null

has_server() { [[ -x $("$1" --bindir)/postgres ]]; } 2>/dev/null

# Debian's layout has a folder for each version in this one. (The tests of this file set other folders.)
versions=/usr/lib/postgresql

# find_postgresql: sets PG_CONFIG to the caller's; else to the newest one in Debian's layout that has a server and can
# build extensions; else to the one in PATH, if this has a server and can build extensions; else to the newest one in
# Debian's layout that can build. Versions in Debian's layout that are too old do not count. Leaves PG_CONFIG empty if
# there is none.
find_postgresql() {
	if [[ -n ${PG_CONFIG:-} ]]; then
		command -v "$PG_CONFIG" >/dev/null || die "PG_CONFIG is $PG_CONFIG, which cannot be run"
		PG_CONFIG=$(command -v "$PG_CONFIG")
		# The build runs in another folder.
		[[ $PG_CONFIG == /* ]] || PG_CONFIG=$PWD/$PG_CONFIG
	else
		local candidate headers=
		PG_CONFIG=
		for candidate in $(oldest_first "$versions"/*/bin/pg_config); do
			if ! new_enough "$candidate" || ! can_build "$candidate"; then continue; fi
			headers=$candidate
			if has_server "$candidate"; then PG_CONFIG=$candidate; fi
		done
		if [[ -z $PG_CONFIG ]] && command -v pg_config >/dev/null && can_build pg_config && has_server pg_config; then
			PG_CONFIG=$(command -v pg_config)
		fi
		PG_CONFIG=${PG_CONFIG:-$headers}
	fi
	export PG_CONFIG
}

# major_of FILE: prints the major version in a path of Debian's layout: 15 for /usr/lib/postgresql/15/bin/postgres.
major_of() { basename "$(dirname "$(dirname "$1")")"; }
new_enough() { [[ $(major_of "$1") =~ ^[0-9]+$ ]] && (($(major_of "$1") >= oldest_postgresql)); }

# newest_server: prints the newest version in Debian's layout that has a server and is not too old; else nothing.
newest_server() {
	local candidate major=
	for candidate in $(oldest_first "$versions"/*/bin/postgres); do
		if new_enough "$candidate"; then major=$(major_of "$candidate"); fi
	done
	printf '%s' "$major"
}

# shellcheck disable=SC2012  # these paths have no blanks or line feeds in them
oldest_first() { ls -d "$@" 2>/dev/null | sort -V || true; }

postgresql_major() { "$PG_CONFIG" --version | sed 's/^PostgreSQL \([0-9]*\).*/\1/'; }

# want PACKAGE COMMAND...: notes the package as missing, unless the command succeeds.
want() {
	local package=$1
	shift
	"$@" >/dev/null 2>&1 || [[ " ${missing[*]} " == *" $package "* ]] || missing+=("$package")
}

has_header() { g++ -E -x c++ -o /dev/null - <<<"#include <$1>"; }
has_perl_module() { perl -M"$1" -e 1; }

want_postgresql() {
	local given=${PG_CONFIG:-} major
	find_postgresql
	if [[ -n $given ]]; then
		can_build "$PG_CONFIG" || die "$PG_CONFIG names a PostgreSQL without the files that extensions are built with"
		has_server "$PG_CONFIG" || die "$PG_CONFIG names a PostgreSQL without a server"
		major=$(postgresql_major)
	elif [[ -n $PG_CONFIG && $PG_CONFIG != "$versions"/* ]]; then
		major=$(postgresql_major)
	else
		# If no version has both a server and headers, the newest server gets its headers, for it is probably in use. If
		# there is no server, the newest headers get one. If there is neither, this takes the distribution's version.
		if [[ -n $PG_CONFIG ]] && has_server "$PG_CONFIG"; then
			major=$(major_of "$PG_CONFIG")
		else
			major=$(newest_server)
			if [[ -z $major && -n $PG_CONFIG ]]; then major=$(major_of "$PG_CONFIG"); fi
		fi
		if [[ -z $major ]]; then major=$(default_major); fi
		if [[ -z $major ]]; then
			missing+=(postgresql postgresql-server-dev-all)
			return
		fi
		want "postgresql-$major" test -x "$versions/$major/bin/postgres"
		want "postgresql-server-dev-$major" can_build "$versions/$major/bin/pg_config"
	fi
	((major >= oldest_postgresql)) || die "streambloom needs PostgreSQL $oldest_postgresql or later and this is $major. Debian 12 and Ubuntu 24.04 have a newer one, and so have later releases; for others PostgreSQL's own apt repository has it. If one is installed elsewhere, set PG_CONFIG=/path/to/pg_config"
}

# default_major: prints the version that the package postgresql depends on; nothing if apt-get cannot tell. If apt-get
# does not know the package yet, fetches the lists of packages first.
default_major() {
	command -v apt-get >/dev/null || return 0
	if can_install && ! known_packages postgresql; then update_packages; fi
	(apt-cache show postgresql 2>/dev/null || true) | sed -n 's/^Depends:.*\<postgresql-\([0-9]\{1,\}\)\>.*/\1/p' | head -n 1
}

# ----------------------------------------------------------------- apt-get

can_install() { ((EUID == 0)) || command -v sudo >/dev/null; }

as_root() {
	if ((EUID == 0)); then "$@"; else sudo "$@"; fi
}

apt_get() { as_root env DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 apt-get -qq -y -o DPkg::Lock::Timeout=120 -o Dpkg::Options::=--force-confold "$@"; }
known_packages() { apt-cache show "$@" >/dev/null 2>&1; }

update_packages() {
	printf '  reading the lists of packages\n' >&2
	apt_get update >&2 || die "apt-get update failed"
}

# This file tells Debian's packages of servers whether to make a cluster of their own.
cluster_conf=/etc/postgresql-common/createcluster.conf
cluster_conf_template=/usr/share/postgresql-common/createcluster.conf
no_cluster='create_main_cluster = false'

# install_packages PACKAGE...: installs the packages. If the machine has no createcluster.conf of its own, a server
# among them gets no cluster, since nothing here needs one. Servers that others install later get one as usual.
install_packages() {
	local package server='' major
	printf '  installing %s\n' "$*"
	known_packages "$@" || update_packages
	for package in "$@"; do
		if [[ $package =~ ^postgresql(-[0-9]+)?$ ]] && is_our_conf; then server=$package; fi
	done
	# A subshell, whose trap puts the file back however it ends.
	(
		if [[ -n $server ]]; then
			trap allow_clusters EXIT
			trap 'exit 130' INT
			trap 'exit 143' TERM HUP
			as_root mkdir -p "$(dirname "$cluster_conf")" && as_root tee "$cluster_conf" <<<"$no_cluster" >/dev/null \
				|| die "$cluster_conf cannot be written"
		fi
		install_now "$@"
	) || exit
	if [[ -n $server ]]; then
		major=${server#postgresql-}
		[[ $server != postgresql ]] || major=$(newest_server)
		printf '  PostgreSQL %s has no cluster of its own yet. To make one, as root: pg_createcluster %s main --start\n' "$major" "$major"
	fi
}

# Is the file missing, or left by a run that was killed?
is_our_conf() { [[ ! -e $cluster_conf || $(<"$cluster_conf") == "$no_cluster" ]]; }

allow_clusters() {
	if [[ -e $cluster_conf_template ]]; then as_root cp "$cluster_conf_template" "$cluster_conf"; else as_root rm -f "$cluster_conf"; fi \
		|| printf '  %s could not be put back: with it, no server that is installed later gets a cluster\n' "$cluster_conf" >&2
}

# install_now PACKAGE...: if the lists of packages are too old, they name files that no longer exist. Then it tries once
# more with new lists.
install_now() {
	local log
	log=$(mktemp)
	if ! apt_get --no-install-recommends install "$@" >"$log" 2>&1 \
		&& ! { update_packages && apt_get --no-install-recommends install "$@" >"$log" 2>&1; }; then
		tail -n 20 "$log" >&2
		rm -f "$log"
		die "apt-get could not install: $*"
	fi
	rm -f "$log"
}

# prepare_packages WANT...: calls these functions, each of which says which packages it wants, and installs those that
# are missing. Then sets PG_CONFIG (find_postgresql).
prepare_packages() {
	missing=()
	local wants
	for wants in "$@"; do "$wants"; done
	if ((${#missing[@]} > 0)); then
		command -v apt-get >/dev/null || die "there is no apt-get here. Please install what Debian calls: ${missing[*]}"
		can_install || die "this is not root, and there is no sudo. Please install as root: apt-get install ${missing[*]}"
		install_packages "${missing[@]}"
	fi
	find_postgresql
}

# prepare_extras WANT...: like prepare_packages, for packages that are not really needed: nothing is an error, and no
# password is asked for. Call it after prepare_packages, which finds the version of PostgreSQL.
prepare_extras() {
	missing=()
	local wants
	for wants in "$@"; do "$wants"; done
	((${#missing[@]} > 0)) || return 0
	command -v apt-get >/dev/null && { ((EUID == 0)) || sudo -n true; } 2>/dev/null || return 0
	# Without any lists of packages, the lists must be fetched first.
	(
		known_packages "${missing[@]}" || known_packages postgresql || update_packages
		known_packages "${missing[@]}" && install_packages "${missing[@]}"
	) || printf '  going on without: %s\n' "${missing[*]}"
}

want_build() {
	want_postgresql
	want g++ command -v g++
	want make command -v make
	want libxxhash-dev has_header xxhash.h
	want perl command -v perl
}

want_tests() {
	want cmake command -v cmake
	want libgtest-dev has_header gtest/gtest.h
	want libxxhash-dev has_header xxhash.h
	want perl command -v prove
	want libipc-run-perl has_perl_module IPC::Run
	want binutils command -v readelf
}

# pg_cron, for the tests of jobs, if PostgreSQL lies in Debian's layout. If the caller has set PG_CONFIG, scripts/test
# calls this only with STREAMBLOOM_EXTRAS.
want_cron() {
	local major
	[[ $PG_CONFIG == /usr/lib/postgresql/*/bin/pg_config ]] || return 0
	major=$(postgresql_major)
	want "postgresql-$major-cron" test -e "$("$PG_CONFIG" --pkglibdir)/pg_cron.so"
}

# HypoPG, for the test of plans with hypothetical indexes. Like pg_cron, only for PostgreSQL in Debian's layout.
want_hypopg() {
	local major
	[[ $PG_CONFIG == /usr/lib/postgresql/*/bin/pg_config ]] || return 0
	major=$(postgresql_major)
	want "postgresql-$major-hypopg" test -e "$("$PG_CONFIG" --pkglibdir)/hypopg.so"
}

# For the tests with other extensions and programs. The extensions are wanted only for PostgreSQL in Debian's layout.
want_partman() {
	local major
	[[ $PG_CONFIG == /usr/lib/postgresql/*/bin/pg_config ]] || return 0
	major=$(postgresql_major)
	want "postgresql-$major-partman" test -e "$("$PG_CONFIG" --sharedir)/extension/pg_partman.control"
}
want_repack() {
	local major
	[[ $PG_CONFIG == /usr/lib/postgresql/*/bin/pg_config ]] || return 0
	major=$(postgresql_major)
	want "postgresql-$major-repack" test -e "$("$PG_CONFIG" --pkglibdir)/pg_repack.so"
}
want_pgbouncer() { want pgbouncer test -x /usr/sbin/pgbouncer; }
