# shellcheck shell=bash
# test-scripts.sh: tests of the functions that the scripts share. Sourced by scripts/test, and called by its suite
# "checks". A test that replaces functions or variables of the scripts is a subshell, so that it changes no other test.
# shellcheck disable=SC2012,SC2015,SC2016,SC2030,SC2031,SC2034,SC2154,SC2317

# fake_version FOLDER MAJOR PART...: makes a PostgreSQL in Debian's layout, with the parts "server" and "headers".
fake_version() {
	local folder=$1/$2 major=$2
	mkdir -p "$folder/bin" "$folder/include"
	printf '#!/bin/sh\ncase $1 in --version) echo PostgreSQL %s.1 ;; --bindir) echo %q ;; --pgxs) echo %q ;; --includedir-server) echo %q ;; esac\n' \
		"$major" "$folder/bin" "$folder/pgxs.mk" "$folder/include" >"$folder/bin/pg_config"
	chmod 755 "$folder/bin/pg_config"
	if [[ " $* " == *' server '* ]]; then cp "$folder/bin/pg_config" "$folder/bin/postgres"; fi
	if [[ " $* " == *' headers '* ]]; then touch "$folder/pgxs.mk" "$folder/include/postgres.h"; fi
}

# chooses EXPECTED VERSION...: of these versions ("15 server headers"), the scripts must choose the expected one and
# install the expected packages. EXPECTED is "VERSION: PACKAGE...".
chooses() (
	expected=$1
	shift
	versions=$(mktemp -d "$work/versions.XXXXXX")
	for version in "$@"; do
		# shellcheck disable=SC2086
		fake_version "$versions" $version
	done
	PG_CONFIG='' missing=()
	pg_config() { false; }
	default_major() { printf 16; }
	want_postgresql || exit
	chosen="${PG_CONFIG:+$(major_of "$PG_CONFIG")}: ${missing[*]}"
	rm -rf "$versions"
	[[ $chosen == "$expected" ]] || { printf 'it has chosen "%s" of: %s\n' "$chosen" "$*" && exit 1; }
)

chooses_versions() {
	chooses '15: ' '15 server headers' '17 headers' '18 headers' \
		&& chooses '17: ' '15 server headers' '17 server headers' '18 server' \
		&& chooses ': postgresql-server-dev-17' '13 headers' '17 server' \
		&& chooses '15: postgresql-server-dev-17' '15 headers' '17 server' \
		&& chooses '18: postgresql-18' '15 headers' '18 headers' '13 server' \
		&& chooses ': postgresql-16 postgresql-server-dev-16' '13 server headers' \
		&& chooses ': postgresql-16 postgresql-server-dev-16'
}

names_pg_config() (
	cd "$work" || exit
	fake_version "$work/named" 17 server headers
	PG_CONFIG=named/17/bin/pg_config
	find_postgresql
	rm -rf "$work/named"
	[[ $PG_CONFIG == "$work/named/17/bin/pg_config" ]] || { printf 'PG_CONFIG is %s\n' "$PG_CONFIG" && exit 1; }
)

# What the caller has set for connections or for cd must not lead the scripts elsewhere.
ignores_environment() (
	elsewhere=$work/elsewhere
	mkdir -p "$elsewhere/scripts"
	cd "$repository" || exit
	export CDPATH=$elsewhere PGHOSTADDR=192.0.2.1 PGTZ=nowhere PGCLIENTENCODING=SJIS PG_CONFIG=kept
	scripts/with-cluster --help | grep -q 'with-cluster: runs a command' || exit
	# shellcheck disable=SC1091
	. "$here/lib/common.sh"
	left=$(compgen -e | grep -E '^PG|^CDPATH' | paste -sd' ')
	[[ $left == PG_CONFIG ]] || { printf 'left: %s\n' "$left" && exit 1; }
)

# Where the distribution's PostgreSQL is too old, the message must say from where to take another one.
refuses_old_version() (
	versions=$work/none PG_CONFIG='' missing=()
	pg_config() { false; }
	default_major() { printf 14; }
	! said=$(want_postgresql 2>&1) && grep -q "this is 14.*PostgreSQL's own apt repository" <<<"$said" || { printf '%s\n' "$said" && exit 1; }
)

# installs_without_cluster STATUS: while a server is installed, Debian's packages are told to make no cluster. After
# that, whether apt-get ends with status 0 or 1, createcluster.conf is as the package postgresql-common brings it.
installs_without_cluster() (
	folder=$(mktemp -d "$work/apt.XXXXXX") status=$1
	cluster_conf=$folder/etc/createcluster.conf cluster_conf_template=$folder/template
	printf '#create_main_cluster = true\n' >"$cluster_conf_template"
	as_root() { "$@"; }
	known_packages() { true; }
	update_packages() { true; }
	apt_get() { cp "$cluster_conf" "$folder/seen" && return "$status"; }
	ended=0
	said=$(install_packages postgresql-17 g++ 2>&1) || ended=$?
	[[ $ended == "$status" ]] || { printf 'ended with %s:\n%s\n' "$ended" "$said" && exit 1; }
	((status != 0)) || grep -q 'pg_createcluster 17 main --start' <<<"$said" || { printf 'said %s\n' "$said" && exit 1; }
	diff <(printf 'create_main_cluster = false\n') "$folder/seen" && diff "$cluster_conf_template" "$cluster_conf"
)

# An ordinary user cannot enter /var/log/apache2 or read the logs of others. The message must say so.
tells_unreadable_logs() (
	folder=$(mktemp -d "$work/logs.XXXXXX") user=$(if ((EUID == 0)); then echo "$server_user"; else id -un; fi)
	chmod 755 "$folder"
	mkdir "$folder/shut"
	printf 'line\n' | tee "$folder/log" "$folder/unreadable" >"$folder/shut/log"
	chmod 000 "$folder/unreadable" "$folder/shut"
	for name in log unreadable shut/log shut/no/log no/log; do
		as_server bash -c '. "$0/common.sh" && . "$0/log.sh" && find_log "$1" 2>&1' "$work/src/scripts/lib" "$folder/$name" | sed "s|$folder/||g; s/^common.sh: //; s/^bash: //"
	done | sed -E 's/^[^ :]+: //; s/(user [^:]*|there is no file [^,]*).*/\1/' >"$folder/said"
	chmod 755 "$folder/shut"
	diff - "$folder/said" <<-SAID
		log
		unreadable cannot be read by the user $user
		shut/log cannot be read by the user $user
		shut/no/log cannot be read by the user $user
		there is no file no/log
	SAID
)

escapes_bytes() (
	diff <(perl -e 'print "\xc3\xa9a" x 100000, "\n", "\xed\xa0\x80 \xc3\xa9 \\.\x01\r\n\\.\n"' | escape_bytes) \
		<(perl -e 'print "\xc3\xa9a" x 100000, "\n", q(\xed\xa0\x80 \xc3\xa9 ), "\\.", q(\x01), "\n\\x5c.\n"') | cut -c 1-200
	return "${PIPESTATUS[0]}"
)

writes_settings() {
	diff <(for setting in shared_preload_libraries=streambloom,pg_cron "search_path=it's, \\x" work_mem=; do conf_line "$setting"; done) - <<-'CONF'
		shared_preload_libraries = 'streambloom,pg_cron'
		search_path = 'it''s, \\x'
		work_mem = ''
	CONF
}

keeps_other_sites() (
	mkdir -p "$work/other-site"
	touch "$work/other-site/sitemap.xml"
	mkdocs() { rm -f "$work/other-site/sitemap.xml"; }
	! (build_site "$work/other-site") 2>/dev/null && [[ -e $work/other-site/sitemap.xml ]]
)

# A server that a script has started must not keep the lock of its folder, when the script is killed.
server_holds_no_lock() (
	work=$(mktemp -d "$work/held.XXXXXX")
	if ((EUID == 0)); then chown "$server_user" "$work"; fi
	lock_work || exit
	as_server mkdir "$work/tmp"
	as_server sh -c 'sleep 300 >/dev/null 2>&1 & echo $! >tmp/pid'
	exec {work_lock}<&-
	status=0
	lock_work || status=$?
	kill "$(<"$work/tmp/pid")"
	return "$status"
)

# scripts/test --forget stops the servers of killed runs, and leaves folders that are in use.
forgets_killed_runs() (
	folder=$(mktemp -d "$work/forget.XXXXXX")
	chmod 755 "$folder"
	kept_folder() { printf '%s/streambloom.kept.%s.' "$folder" "$EUID"; }
	mkdir "$folder/streambloom.kept.$EUID.bare"
	if ((EUID == 0)); then chown "$server_user" "$folder/streambloom.kept.$EUID.bare"; fi
	servers=()
	for name in "streambloom.kept.$EUID.killed" "streambloom.kept.$EUID.used" streambloom.killed streambloom.unsure; do
		mkdir -p "$folder/$name"/{data,tmp/old/data,root/usr/bin}
		(cd "$folder/$name/data" && exec sleep 60) &
		servers+=("$!")
		echo "$!" | tee "$folder/$name"/{,tmp/old/}data/postmaster.pid >/dev/null
		printf '#!/bin/sh\necho "$0 $*" >>%q\n' "$folder/stopped" >"$folder/$name/root/usr/bin/pg_ctl"
		chmod 755 "$folder/$name/root/usr/bin/pg_ctl"
		if ((EUID == 0)); then chown -R "$server_user" "$folder/$name"; fi
	done
	touch "$folder/streambloom.killed/locked" "$folder/stopped"
	chmod 666 "$folder/stopped"
	exec {other}<"$folder/streambloom.kept.$EUID.used"
	flock -n "$other"
	bash -euo pipefail -c "$(declare -p folder work server_user); $(declare -f); forget_kept_work" 2>/dev/null
	kill "${servers[@]}"
	diff <(printf '%s\n' "streambloom.kept.$EUID.killed" streambloom.killed | sort) <(sed 's,/root/.*,,; s,.*/,,' "$folder/stopped" | sort) \
		&& diff <(printf '%s\n' stopped "streambloom.kept.$EUID.used" streambloom.unsure | sort) <(ls "$folder" | sort)
)
