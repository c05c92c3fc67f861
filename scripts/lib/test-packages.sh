# shellcheck shell=bash
# test-packages.sh: the suite "packages" of scripts/test. Builds the release and the Debian packages, and installs and
# removes them as a new user would. Sourced by scripts/test, whose functions it calls.
# shellcheck disable=SC2154,SC2317
#
# For each suite of Debian in STREAMBLOOM_SUITES (by default this machine's) there are fresh systems from the mirror of
# this machine's apt: one to build in; a minimal one, in which the finished package is installed and tested; and, if the
# sources are a clone of git, one more for the steps of the public workflow. Each is a folder in $work. Programs in them
# do not see the processes of this machine, and those that in_system runs with --net do not see its network.
#
# scripts/make-release sets STREAMBLOOM_RELEASE to a folder that gets what was built.

want_packaging() {
	want mmdebstrap command -v mmdebstrap
	want autopkgtest command -v autopkgtest
	want dpkg-dev command -v dpkg-source
	want unzip command -v unzip
	want git command -v git
}

# in_system ROOT [--net] COMMAND...: runs the command as root in the system ROOT; with --net, an option of unshare,
# the command has no network. When it ends, all processes that it has started end too.
in_system() {
	local root=$1 apart=()
	shift
	if [[ $1 == --net ]]; then apart=(--net) && shift; fi
	unshare --mount --pid "${apart[@]}" --fork --kill-child bash -c '
		mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" || exit
		if [[ $1 == "--net" ]]; then shift && ip link set lo up 2>/dev/null; fi
		exec chroot "$0" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"' \
		"$root" "${apart[@]}" "$@" </dev/null
}

apt_in() { in_system "$1" apt-get -qq -y --no-install-recommends -o Dpkg::Use-Pty=0 "${@:2}"; }

# make_system ROOT SUITE: makes a minimal Debian. The mirror's lists may be some weeks old, so apt does not check dates.
make_system() {
	local root=$1 suite=$2 mirror base=$2
	mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Component: main' | head -n 1)
	[[ $suite != experimental ]] || base=sid
	mmdebstrap --variant=minbase --aptopt='Acquire::Check-Valid-Until "false"' --aptopt='Acquire::Check-Date "false"' \
		"$base" "$root" "$mirror" || return
	if [[ $suite == experimental ]]; then
		# Only PostgreSQL's packages are taken from experimental.
		printf 'deb %s experimental main\n' "$mirror" >"$root/etc/apt/sources.list.d/experimental.list"
		printf 'Package: postgresql* libpq* libecpg* libpg*\nPin: release a=experimental\nPin-Priority: 600\n' >"$root/etc/apt/preferences.d/postgresql"
	fi
	# Installing a server's package must not start a server.
	printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
	chmod 755 "$root/usr/sbin/policy-rc.d"
	apt_in "$root" update
}

# build_packages ROOT SUITE: builds the packages into ROOT/packages. The regression tests are run later, on the
# installed package.
build_packages() {
	local root=$1 suite=$2 versions=
	apt_in "$root" install build-essential debhelper postgresql-server-dev-all libxxhash-dev lintian || return
	if [[ $suite == experimental ]]; then
		versions=$(in_system "$root" apt-cache --names-only search '^postgresql-server-dev-[0-9]+$' | sed 's/^postgresql-server-dev-\([0-9]*\) .*/\1/' | sort -n | tail -n 1)
		apt_in "$root" install "postgresql-server-dev-$versions" || return
	fi
	cp -r "$work/src" "$root/source" || return
	in_system "$root" env ${versions:+"PG_SUPPORTED_VERSIONS=$versions"} DEB_BUILD_OPTIONS="parallel=$(nproc)" /source/scripts/make-packages --quick /packages
}

# builds_the_same ROOT: builds the packages once more, later and in another folder. They must have the same bytes.
builds_the_same() {
	local root=$1 package versions
	versions=$(cd "$root/packages" && printf '%s\n' postgresql-*-streambloom_*.deb | sed 's/^postgresql-\([0-9]*\)-.*/\1/' | sort -u | paste -sd ' ')
	mv "$root/source" "$root/moved" && in_system "$root" env "PG_SUPPORTED_VERSIONS=$versions" DEB_BUILD_OPTIONS="parallel=$(nproc)" \
		/moved/scripts/make-packages --quick /again || return
	for package in "$root"/packages/*.deb; do
		cmp "$package" "$root/again/${package##*/}" || return
	done
}

# page_block PAGE NAME: prints the commands of docs/PAGE that stand below the mark "newcomer: NAME".
page_block() {
	perl -0777 -e 'my ($page, $name) = splice @ARGV; open my $file, "<", $page or die "$page: $!\n";
		<$file> =~ /<!-- newcomer: \Q$name\E -->\n\n```\n(.*?)```/s ? print $1 : die "$page has no commands \"$name\"\n"' "$repository/docs/$1" "$2"
}

# installs ROOT SUITE: installs the package with the commands of docs/operations.md. The system has no lists of packages
# yet, like an image of a container, and apt does not prefer experimental, as it does not on a reader's machine.
installs() {
	local root=$1 name=package commands preferences=$1/etc/apt/preferences.d/postgresql status=0
	[[ $2 != experimental ]] || name='package from experimental'
	commands=$(page_block operations.md "$name") || return
	find "$root/var/lib/apt/lists" -type f -delete
	printf 'APT::Get::Assume-Yes "true";\n' >"$root/etc/apt/apt.conf.d/99yes"
	[[ ! -e $preferences ]] || mv "$preferences" "$root/root/preferences" || return
	in_system "$root" sh -euc "${commands//postgresql-15-/postgresql-*-}" || status=$?
	[[ ! -e $root/root/preferences ]] || mv "$root/root/preferences" "$preferences" || return
	return "$status"
}

# Succeeds if every link between pages of a package leads to a file of that package.
pages_keep_links() { "$here/lib/links.pl" "$1"/usr/share/doc/streambloom-doc; }

# types_tutorial ROOT: a role that is no superuser creates the extension in a database of its own, and types the
# packaged tutorial.
types_tutorial() {
	local root=$1
	"$here/generate-log" --lines 20000 >"$root/tmp/access.log" || return
	in_system "$root" --net sh -euc '
		version=$(ls /etc/postgresql)
		pg_ctlcluster "$version" main start
		as() { role=$1; shift; runuser -u postgres -- psql -X -q -v ON_ERROR_STOP=1 "$@"; }
		as postgres -c "CREATE ROLE plain" -c "CREATE DATABASE plain OWNER plain"
		sed -n "/^\`\`\`sql\$/,/^\`\`\`\$/ { /^\`\`\`/d; p }" /usr/share/doc/streambloom-doc/docs/tutorial.md >/tmp/typed.sql
		test "$(wc -l </tmp/typed.sql)" -gt 40 || { echo "the page has no blocks"; exit 1; }
		cd /tmp
		{ printf "SET ROLE plain;\n"; cat /tmp/typed.sql; } | as postgres -d plain >/tmp/typed.out
		# Any role may preload what has a link in plugins.
		as postgres -d "dbname=plain options=-clocal_preload_libraries=streambloom" -c "SELECT 1" >/dev/null
		grep -A2 "counted_too_low" /tmp/typed.out | grep -qE "^ *[1-9][0-9]* \| +0 \|" || { echo "counts are too low, or the page was not typed to its end"; exit 1; }
		pg_ctlcluster "$version" main stop'
}

# json_log LINES: prints a made-up log of nginx in JSON lines. It has escapes \x16, which are not valid JSON, as in
# real logs.
json_log() {
	"$here/generate-log" --lines "$1" | perl -ne '
		/^(\S+) \S+ \S+ \[([^]]+)\] "((?:[^"\\]|\\.)*)" (\d+) (\S+) "((?:[^"\\]|\\.)*)" "((?:[^"\\]|\\.)*)"/ or next;
		printf qq({"time_local":"%s","remote_addr":"%s","request":"%s","status":"%s","body_bytes_sent":"%s","http_referer":"%s","http_user_agent":"%s"}\n),
			$2, $1, $3, $4, $5, $6, $7'
}

# types_json ROOT: starts the server and makes a role and a database for a user of the machine, with the commands of
# docs/logs.md. The user types what that page has for a log in JSON lines, and then the end of the tutorial.
types_json() {
	local root=$1 start role
	start=$(page_block logs.md start) && role=$(page_block logs.md role) || return
	in_system "$root" sh -euc 'id newcomer 2>/dev/null || useradd -m newcomer; chmod 700 /home/newcomer' || return
	json_log 200000 >"$root/home/newcomer/access.log" || return
	in_system "$root" --net sh -euc '
		pages=/usr/share/doc/streambloom-doc/docs
		version=$(ls /etc/postgresql)
		cd /root
		eval "$(printf "%s\n" "$1" | sed "s/\<15\>/$version/")"
		eval "$(printf "%s\n" "$2" | sed "s/\<NAME\>/newcomer/g")"
		blocks() { sed -n "/^\`\`\`sql\$/,/^\`\`\`\$/ { /^\`\`\`/d; p }"; }
		{
			blocks <"$pages/logs.md"
			sed -n "/^## What is in a filter/,\$p" "$pages/tutorial.md" | blocks
		} >/tmp/json.sql
		for part in "CREATE FUNCTION log_json" remote_addr "PARTITION OF" bf_agg chunk_scan tbf_rollup_top gram_ops; do
			grep -q -e "$part" /tmp/json.sql || { echo "the pages have no block with $part"; exit 1; }
		done
		runuser -u newcomer -- sh -c "cd && psql -X -q -v ON_ERROR_STOP=1 -f /tmp/json.sql" >/tmp/json.out
		grep -qE "^ *200000 \| +200000" /tmp/json.out || { echo "not every line has become a hit:"; grep -A2 "lines.*hits" /tmp/json.out; exit 1; }
		grep -A2 "counted_too_low" /tmp/json.out | grep -qE "^ *[1-9][0-9]* \| +0 \|" || { echo "counts are too low, or there are none"; exit 1; }
		# The tutorial ends with the removal of what the two pages have made.
		left=$(runuser -u newcomer -- sh -c "cd && psql -XAtc \"SELECT relname FROM pg_class WHERE relnamespace = 2200
			UNION ALL SELECT proname FROM pg_proc WHERE pronamespace = 2200\"")
		test -z "$left" || { echo "left in the database: $left"; exit 1; }
		pg_ctlcluster "$version" main stop' sh "$start" "$role"
}

# is_lean DEB: the package of the library wants the minor version of the headers that it was built with, and has no pages.
is_lean() {
	dpkg-deb -f "$1" Depends | grep -E 'postgresql-[0-9]+ \(>' && ! dpkg-deb -c "$1" | grep -E '\.md$|LICENSE'
}

# rest_of ROOT: fails if dpkg still knows the removed package, or if a file still has "streambloom" in its name. The
# packages in /packages, which these tests have put there, do not count.
rest_of() {
	local left
	left=$(find "$1" -xdev \( -path "$1/packages" -o -path "$1/proc" -o -path "$1/dev" \) -prune -o -iname '*streambloom*' -print)
	in_system "$1" dpkg-query -W -f '${Package} ${Status}\n' '*streambloom*' 2>/dev/null | grep -v 'not-installed' && return 1
	[[ -z $left ]] || { printf '%s\n' "$left" && return 1; }
}

# removes ROOT: purges the package, which warns of what keeps people out then.
removes() {
	local said names
	mapfile -t names < <(cd "$1/packages" && printf '%s\n' *-streambloom_*.deb streambloom-doc_*.deb | sed 's/_.*//')
	said=$(apt_in "$1" purge "${names[@]}" 2>&1) && rest_of "$1" \
		&& grep -q 'RESET session_preload_libraries' <<<"$said" || { printf '%s\n' "$said" && return 1; }
}

# packaged_tests ROOT: runs debian/tests as a distribution does.
packaged_tests() {
	unshare --mount --pid --fork --kill-child bash -c '
		mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" || exit
		# The other system does not have the folder that $TMPDIR names.
		cd "$0/packages" && exec env -u TMPDIR autopkgtest --no-built-binaries ./*-streambloom_*.deb ./streambloom-doc_*.deb ./streambloom_*.dsc -- chroot "$0"' \
		"$1" </dev/null | grep -E 'FAILED|^(not ok|[-+@]|\*\*\*|installcheck|autopkgtest)|^[^ ]+: (not found|error)'
}

# Runs the steps of the public workflow, with clang and the suites "checks" and "regress" alone. As in the workflow, the
# checkout is a clone that belongs to another user.
workflow_runs() {
	local root=$1 version
	version=$(sed -n "s/.*{debian: $2, postgresql: \([0-9]*\)}.*/\1/p" "$repository/.github/workflows/test.yml" | tail -n 1)
	make_system "$root" "$2" && in_system "$root" sh -euc "$(sed -n 's/^ *- run: \(apt-get.*\)/\1/p' "$repository/.github/workflows/test.yml" | head -n 1)" \
		&& git -c safe.directory='*' clone -q "$repository" "$root/checkout" \
		&& in_system "$root" /checkout/scripts/ci test "${version:?}" clang checks regress
}

# left_out WHY: a test cannot be run here. It counts as failed if suites of Debian were named, as for a release;
# otherwise as skipped.
left_out() { if [[ -n ${STREAMBLOOM_SUITES:-} ]]; then not_ok "$@"; else skip "$@"; fi; }

one_suite() {
	local name=$1 build=$work/system/$1.build clean=$work/system/$1
	mkdir -p "$work/system"
	if ! run_logged "$work/system/$name.log" make_system "$build" "$name" 2>/dev/null; then
		left_out "$name: no system can be made of this machine's mirror"
		indent 3 <"$work/system/$name.log"
		return
	fi
	verdict "$name: the packages build" build_packages "$build" "$name"
	if ! compgen -G "$build/packages/*-streambloom_*.deb" >/dev/null; then return; fi
	verdict "$name: the same sources give the same packages, byte for byte" builds_the_same "$build"
	verdict "$name: lintian finds no error" in_system "$build" sh -c 'lintian --allow-root --fail-on error /packages/*.changes'
	verdict "$name: a package wants the minor version of its headers, and has no pages" is_lean "$build"/packages/postgresql-*-streambloom_*.deb
	verdict "$name: a clean system is made" make_system "$clean" "$name"
	cp -r "$build/packages" "$clean/packages"
	# All checks from here on need the package.
	local began=$SECONDS
	verdict "$name: the package installs in a clean system" installs "$clean" "$name"
	verdict "$name: a new user loads a log in JSON lines as docs/logs.md says, and gets answers" types_json "$clean"
	printf '      | %s: from the clean system to the answers in %d s\n' "$name" $((SECONDS - began))
	verdict "$name: the links of the packaged pages lead somewhere" pages_keep_links "$clean"
	verdict "$name: a plain role creates the extension and types the tutorial" types_tutorial "$clean"
	verdict "$name: the package is removed without a rest" removes "$clean"
	local image="$work/system/$name.oci.tar" server
	server=$(ls "$clean/etc/postgresql")
	if ((server >= 18)); then
		verdict "$name: an image of the extension's files is made" extension_image "$clean"/packages/postgresql-*-streambloom_*.deb "streambloom:$server-$(current_version)-$name" "$image"
		verdict "$name: a server finds the extension in it" extension_image_works "$clean" "$image"
	fi
	verdict "$name: the packaged tests pass" packaged_tests "$clean"
	if [[ -n ${STREAMBLOOM_RELEASE:-} ]]; then
		cp -r "$clean/packages" "$STREAMBLOOM_RELEASE/$name"
		[[ ! -e $image ]] || cp "$image" "$STREAMBLOOM_RELEASE/streambloom-$(current_version)-pg$server-$name.oci.tar"
	fi
	rm -rf --one-file-system "$build" "$clean"
	if [[ -e $repository/.github/workflows/test.yml && -e $repository/.git ]]; then
		verdict "$name: the steps of the public workflow run in a clean system" workflow_runs "$clean" "$name"
		rm -rf --one-file-system "$clean"
	fi
}

# A clone has files that the release leaves out (.gitattributes). dpkg-source must not take that for a change of the
# sources.
clone_makes_source_package() {
	git -c safe.directory='*' clone -q "$repository" "$work/clone" && git config --file "$work/gitconfig" safe.directory '*' \
		&& GIT_CONFIG_GLOBAL=$work/gitconfig "$work/clone/scripts/make-packages" --source "$work/clone-packages" \
		&& dpkg-source -x "$work"/clone-packages/*.dsc "$work/unpacked" && test -f "$work/unpacked/debian/tests/control" \
		&& [[ -z $(git -C "$work/clone" -c safe.directory='*' status --porcelain) ]]
}

# A clone that is reached by a symbolic link makes the source package too, of the commit alone. A clone of another
# user, which git does not read, is refused.
linked_clone_makes_source_package() {
	local packed
	ln -s clone "$work/linked" && touch "$work/clone/no-commit" \
		&& GIT_CONFIG_GLOBAL=$work/gitconfig "$work/linked/scripts/make-packages" --source "$work/linked-packages" || return
	rm "$work/clone/no-commit"
	packed=$(tar -tzf "$work"/linked-packages/*.orig.tar.gz) && [[ -n $packed ]] && ! grep -E '/\.git/|/no-commit$' <<<"$packed"
}
foreign_clone_is_refused() {
	local said status=0
	cp -r "$work/clone" "$work/foreign" && chown -R nobody "$work/foreign" || return
	said=$(GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 "$work/foreign/scripts/make-packages" --source "$work/foreign-packages" 2>&1) || status=$?
	printf '%s\n' "$said"
	((status != 0)) && grep -q 'git cannot read it' <<<"$said"
}

release_builds() {
	GIT_CONFIG_GLOBAL=$work/gitconfig make -s -C "$work/clone" dist PG_CONFIG="$PG_CONFIG" && mkdir "$work/release" \
		&& unzip -q "$work"/clone/streambloom-*.zip -d "$work/release" && chown -R "$server_user" "$work/release" \
		&& as_server make -s -C "$work"/release/streambloom-* -j"$(nproc)" PG_CONFIG="$PG_CONFIG" with_llvm=no \
		&& as_server make -s -C "$work"/release/streambloom-* PG_CONFIG="$PG_CONFIG" with_llvm=no install DESTDIR="$work/released" \
		&& find "$work/released" -name streambloom.so | grep -q . && find "$work/released" -name 'streambloom--*.sql' | grep -q .
}

packages() {
	local name
	if ((EUID != 0)) || ! unshare --mount --pid --fork true 2>/dev/null; then
		left_out 'these tests need root, and leave to make namespaces'
		return
	fi
	for name in mmdebstrap autopkgtest dpkg-source unzip git; do
		if ! command -v "$name" >/dev/null; then
			left_out "there is no $name"
			return
		fi
	done
	if [[ -e $repository/.git ]]; then
		verdict 'a fresh clone makes the source package' clone_makes_source_package
		verdict 'so does a clone behind a symbolic link' linked_clone_makes_source_package
		verdict 'a clone that git does not read is refused' foreign_clone_is_refused
		verdict 'make dist writes a release that builds and installs' release_builds
	else
		skip 'this is no clone: no release is made'
	fi
	for name in ${STREAMBLOOM_SUITES:-$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)}; do one_suite "$name"; done
}
