# shellcheck shell=bash
# cluster.sh: builds the extension and runs it in a private PostgreSQL under $work. Sourced after common.sh and
# packages.sh.
#
# Its functions return a status, and print errors on standard error. $repository and $work are set by common.sh.
# shellcheck disable=SC2154
#
# Neither the source tree nor the installed PostgreSQL is changed. The build is made in a copy of the source. The
# server is a copy too. PostgreSQL finds its files relative to the folder of its programs. So $work/root gets copies of
# three programs, links to all other files, and the extension, which `make install DESTDIR=` puts there. This needs no
# root, and two runs at a time do not disturb each other.

# copy_source: copies the tree to $work/src, without files that were built in it. The copy can be written to, even if the
# tree cannot.
copy_source() {
	as_server mkdir -p "$work/src"
	tar -C "$repository" --mode=u+w --exclude=./.git --exclude=./build --exclude=./regress --exclude=./results --exclude=./tmp_check \
		--exclude=./output_iso --exclude='./streambloom*--*.sql' --exclude='*.o' --exclude='*.bc' --exclude='*.so' -cf - . \
		| as_server tar -C "$work/src" --no-same-owner -xf -
}

# make_extension [ARGUMENT...]: runs make in the copy, for the PostgreSQL that was found.
# Bitcode for the JIT compiler would take as long again, and nothing here reads it; the Debian packages are built with it.
make_extension() { as_server make -C "$work/src" -j"$(nproc)" PG_CONFIG="$PG_CONFIG" with_llvm=no "${compiler[@]}" "$@"; }

# STREAMBLOOM_COMPILER=clang compiles with clang instead of PostgreSQL's compiler, whose options and headers it would warn of.
compiler=()
if [[ ${STREAMBLOOM_COMPILER:-} == clang ]]; then
	export CC=clang CXX=clang++
	not_ours='-Wno-unknown-warning-option -Wno-ignored-optimization-argument -Wno-ignored-attributes'
	compiler=("CC=clang $not_ours" "CXX=clang++ $not_ours")
fi

# use_cluster: sets $bin, PGHOST, PGPORT and PGUSER for the cluster in $work.
use_cluster() {
	bin=$work/root$("$PG_CONFIG" --bindir)
	# The socket has a directory of its own, so any port is free there.
	export PGHOST=$work PGPORT=5432 PGUSER=postgres
}

# copy_postgresql: makes the private copy of PostgreSQL.
copy_postgresql() {
	local programs libraries shared
	programs=$("$PG_CONFIG" --bindir) libraries=$("$PG_CONFIG" --pkglibdir) shared=$("$PG_CONFIG" --sharedir)
	use_cluster
	# The copy must not have a streambloom that is installed in the system.
	as_server mkdir -p "$bin" "$work/root$libraries" "$work/root$shared" \
		&& as_server cp -Rs "$programs/." "$bin" \
		&& as_server cp --remove-destination "$programs"/{postgres,initdb,pg_ctl} "$bin" \
		&& as_server cp -Rs "$libraries/." "$work/root$libraries" \
		&& as_server cp -Rs "$shared/." "$work/root$shared" \
		&& find "$work/root" -name 'streambloom*' -prune -exec rm -rf {} +
}

# install_extension [ARGUMENT...]: installs the built extension in the private copy of PostgreSQL.
install_extension() {
	use_cluster
	[[ -x $bin/initdb ]] || copy_postgresql || return
	run_logged "$work/install.log" make_extension "$@" install DESTDIR="$work/root"
}

# start_cluster [SETTING...]: initializes and starts a cluster with these lines in its postgresql.conf.
start_cluster() {
	run_logged "$work/initdb.log" as_server "$bin/initdb" -D "$work/data" -U postgres -A trust -E UTF8 --locale=C.UTF-8 --no-sync || return
	# fsync is off because the cluster lives only for minutes. Dynamic shared memory is mmap, because the /dev/shm of a
	# container is often too small for parallel queries.
	as_server tee -a "$work/data/postgresql.conf" >/dev/null <<-CONF
		listen_addresses = ''
		unix_socket_directories = '$work'
		unix_socket_permissions = 0700
		fsync = off
		synchronous_commit = off
		full_page_writes = off
		shared_buffers = 256MB
		work_mem = 32MB
		maintenance_work_mem = 128MB
		max_wal_size = 2GB
		max_worker_processes = 10
		max_parallel_workers = 6
		max_parallel_workers_per_gather = 2
		max_locks_per_transaction = 1024
		max_prepared_transactions = 20
		dynamic_shared_memory_type = mmap
		timezone = 'UTC'
		log_timezone = 'UTC'
		$(printf '%s\n' "$@")
	CONF
	run_logged "$work/start.log" as_server "$bin/pg_ctl" -D "$work/data" -w -l "$work/server.log" start || {
		if [[ -e $work/server.log ]]; then tail -n 20 "$work/server.log" >&2; fi
		return 1
	}
	if [[ $(run_psql postgres -Atc "SELECT setting FROM pg_config WHERE name = 'PKGLIBDIR'") != "$work"/* ]]; then
		printf 'This PostgreSQL cannot be run from a copy: it does not find its files from where its programs lie.\n' >&2
		return 1
	fi
}

# conf_line NAME=VALUE: prints the line of postgresql.conf that makes this setting. A list of names stays a list there; ALTER
# SYSTEM would take it for one name.
conf_line() {
	local value=${1#*=}
	value=${value//\\/\\\\}
	printf "%s = '%s'\n" "${1%%=*}" "${value//"'"/"''"}"
}

# runs_in DATA: succeeds if a server runs in this folder. A server that was killed leaves its postmaster.pid behind,
# and the number in this file may be that of another process by now. So the folder of the process is compared.
runs_in() {
	local process
	process=$(head -n 1 "$1/postmaster.pid" 2>/dev/null) \
		&& [[ $process =~ ^[0-9]+$ && $(readlink "/proc/$process/cwd") == "$(readlink -f "$1")" ]]
}

# stop_cluster: stops the cluster, and all servers that a test has started in its scratch folder and could not stop.
stop_cluster() {
	local lock
	for lock in "$work"/data/postmaster.pid "$work"/tmp/*/{data,standby}/postmaster.pid; do
		if runs_in "$(dirname "$lock")"; then
			as_server "$bin/pg_ctl" -D "$(dirname "$lock")" -m immediate stop >/dev/null 2>&1 || true
		fi
	done
}

# run_psql DATABASE [ARGUMENT...]: runs psql in the private server. It stops at the first error, and its status tells that.
run_psql() {
	local database=$1
	shift
	"$bin/psql" -X -q -v ON_ERROR_STOP=1 -d "$database" "$@"
}
