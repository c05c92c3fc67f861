# shellcheck shell=bash
# test-checks.sh: the suite "checks" of scripts/test. Looks at the library that was built, at files that must agree with
# each other, at the links and the examples of the pages, at the layout of the sources, and at the scripts themselves
# (test-scripts.sh). Sourced by scripts/test, whose functions it calls.
# shellcheck disable=SC2154,SC2317

library() { printf '%s' "$work/src/streambloom.so"; }

needs_only_c() {
	local needed
	needed=$(readelf -dW "$(library)" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
	printf 'needs: %s\n' "${needed//$'\n'/ }"
	grep -q '^libc\.' <<<"$needed" && ! grep -E 'xxhash|stdc\+\+|gcc_s' <<<"$needed"
}

exports_only_its_own() {
	local names others
	names=$(nm -D --defined-only "$(library)" | awk '{ print $NF }')
	grep -qx 'Pg_magic_func' <<<"$names" || { printf 'it exports no function Pg_magic_func\n' && return 1; }
	others=$(grep -Ev '^(abf_|bf_|chunk_|sbf_|ibf_|stable_|tbf_|value_|bloom_|decay_|pg_finfo_|Pg_magic_func$|_PG_init$)' <<<"$names" || true)
	[[ -z $others ]] || { printf '%s\n' "$others" && return 1; }
}

has_expected_output() { diff <(stems "$work/src/sql" sql) <(stems "$work/src/expected" out); }

has_expected_isolation() { diff <(stems "$work/src/test/isolation/specs" spec) <(stems "$work/src/test/isolation/expected" out); }

meta_agrees() {
	perl -MJSON::PP -e '
		local $/;
		open my $file, "<", $ARGV[0] or die $!;
		my $meta = decode_json(<$file>);
		my $version = $ARGV[1];
		$meta->{version} eq $version or die "META.json is of version $meta->{version}, the control file of $version\n";
		for my $name (keys %{ $meta->{provides} || {} }) {
			my $provided = $meta->{provides}{$name};
			$provided->{version} eq $version or die "it provides version $provided->{version} of $name, not $version\n";
			-e "$ARGV[2]/$name.control" or die "it provides $name, which has no control file\n";
			-e "$ARGV[2]/$_" or die "it names $_, which is not there\n" for $provided->{file}, $provided->{docfile};
		}
	' "$work/src/META.json" "$(current_version)" "$work/src" || return
	# Extensions that are installed together must have the same version.
	local versions
	versions=$(sed -n "s/^default_version = '\(.*\)'/\1/p" "$work"/src/*.control | sort -u)
	[[ $versions != *$'\n'* ]] || { printf 'the control files are of different versions: %s\n' "${versions//$'\n'/ }" && return 1; }
}

# upgrades_lead_here FILE...: each version that these files of sql/updates can install must have a way to the current
# version.
upgrades_lead_here() {
	perl -e '
		my ($current, %next, %from) = shift;
		for (map { s{.*/}{}r } @ARGV) {
			if (/^streambloom--(.+?)--(.+)\.sql$/) { push @{$next{$1}}, $2 }
			elsif (/^streambloom--(.+)\.sql$/) { $from{$1} = 1 }
		}
		for my $version (sort keys %from) {
			my @reached = ($version);
			my %seen;
			while (defined(my $at = shift @reached)) { push @reached, @{$next{$at} || []} if !$seen{$at}++ }
			die "version $version cannot be upgraded to $current\n" if !$seen{$current};
		}
	' "$(current_version)" "$@"
}

# upgrades_lead_here must accept a way of two upgrade scripts, and must fail if the second one is missing.
upgrades_are_judged() {
	local first=(streambloom--0.8.0.sql streambloom--0.8.0--0.8.9.sql)
	upgrades_lead_here "${first[@]}" "streambloom--0.8.9--$(current_version).sql" && ! upgrades_lead_here "${first[@]}"
}

# debian/changelog must have the version of streambloom.control. What debian/control says before the first package must
# be the same as in debian/control.in.
package_agrees() {
	local version
	version=$(current_version)
	[[ $(sed -n '1s/^streambloom (\(.*\)-[0-9]*) .*/\1/p' "$work/src/debian/changelog") == "$version" ]] || { printf 'debian/changelog is not of version %s\n' "$version" && return 1; }
	diff <(sed -n '/^Package:/q; p' "$work/src/debian/control.in") <(sed -n '/^Package:/q; p' "$work/src/debian/control")
}

# Citus refuses an UPDATE of a distributed table that calls a stable function with a column. So examples must use the
# form of tbf_decay() with a time, which is immutable.
decays_with_a_time() {
	local found
	found=$(cd "$repository" && perl -0ne 'while (/\bUPDATE\b[^;`]*?\btbf_decay\(\s*[^(),\s]+\s*\)/gi) { print "$ARGV: $&\n" }' \
		README.md docs/*.md src/*.md src/*/*/README.md bench/*.md scripts/demo scripts/lib/demo/* sql/install/*.sql sql/install/*/*.sql)
	if [[ -n $found ]]; then
		printf '%s\n' "$found"
		return 1
	fi
}

# Each step of the public workflow must be one of scripts/ci, except those before the checkout. The workflow must run
# each step of scripts/ci, and test on PostgreSQL 15 to 19, with both compilers and on both processors.
workflow_agrees() {
	perl -e '
		my ($ci, $workflow) = map { local (@ARGV, $/) = $_; <> } @ARGV;
		my %known = map { $_ => 1 } map { split / \| / } $ci =~ /^([a-z][a-z0-9 |]*)\)/gm;
		my @steps = map { s/ +$//r } $workflow =~ /^ *(?:- )?run: (\S.*)/gm;
		for (grep { !/^apt-get update && apt-get install -y --no-install-recommends ca-certificates git$/ } @steps) {
			/^scripts\/ci (\w+)( \S+| \$\{\{ matrix\.[\w.]+ \}\})*$/ && $known{$1} or die "the workflow runs what no test runs: $_\n";
			$used{$1} = 1;
		}
		$used{$_} or die "the workflow has no step $_\n" for keys %known;
		my @versions = $workflow =~ /\{debian: \w+, postgresql: (\d+)\}/g;
		"@versions" eq "15 16 17 18 19" or die "the workflow tests on PostgreSQL @versions\n";
		$workflow =~ /^ *compiler: \[gcc, clang\]$/m && $workflow =~ /^ *runner: \[ubuntu-24.04, ubuntu-24.04-arm\]$/m or die "the workflow lacks a compiler or a processor\n";
	' "$repository/scripts/ci" "$repository/.github/workflows/test.yml"
}

# scripts/make-man must make the manual pages. If there is a groff, it must accept them without a warning.
manual_is_made() {
	"$here/make-man" "$work/man" || return
	if command -v groff >/dev/null; then
		local said
		said=$(groff -Kutf8 -man -Tutf8 -ww -z "$work"/man/*.1 2>&1)
		[[ -z $said ]] || { printf '%s\n' "$said" && return 1; }
	fi
}

# style_holds: checks .editorconfig's rules. layout_holds: the layout of C++ by clang-format 14; other versions lay out
# differently.
style_holds() { perl "$work/src/scripts/lib/style.pl" "$work/src"; }
has_clang_format() { [[ $(clang-format --version 2>/dev/null) == *' 14.'* ]]; }
layout_holds() {
	(cd "$work/src" && find src/core test/unit test/fuzz test/instructions test/attack \( -name '*.cpp' -o -name '*.hpp' \) | sort \
		| xargs clang-format --dry-run -Werror)
}

checks() {
	if [[ -e $(library) ]]; then
		verdict 'the library needs neither libxxhash nor libstdc++' needs_only_c
		verdict 'the library exports nothing but what SQL calls' exports_only_its_own
	else
		not_ok 'there is no library to look into'
	fi
	verdict 'each sql/*.sql has its expected/*.out, and each of those its test' has_expected_output
	verdict 'each specs/*.spec has its expected/*.out, and each of those its spec' has_expected_isolation
	if [[ -e $work/src/META.json ]]; then
		verdict 'META.json is JSON and of the version of the control file' meta_agrees
	else
		skip 'there is no META.json'
	fi
	if [[ -n $(stems "$work/src/sql/updates" sql) ]]; then
		verdict 'each version in sql/updates can be upgraded to the current one' upgrades_lead_here "$work/src"/sql/updates/*.sql
	else
		skip 'sql/updates has no earlier version to upgrade from'
	fi
	verdict 'a version without a way to the current one is found' upgrades_are_judged
	verdict 'debian/ is of the version of the control file' package_agrees
	verdict 'the addresses are those of META.json, and no other file has one' perl "$repository/scripts/set-addresses" --check
	verdict 'no link of the pages leads nowhere' "$here/lib/links.pl" "$repository"
	verdict 'the navigation of the site has every page' pages_are_listed
	verdict 'the scripts have manual pages' manual_is_made
	verdict 'the scripts choose among several versions of PostgreSQL' chooses_versions
	verdict 'they make a relative PG_CONFIG absolute' names_pg_config
	verdict 'the environment of the caller does not lead them elsewhere' ignores_environment
	verdict 'they say from where a PostgreSQL that is new enough comes' refuses_old_version
	verdict 'they put the file back that keeps a server without a cluster' installs_without_cluster 0
	verdict 'they put it back too if apt-get fails' installs_without_cluster 1
	verdict 'a log that the user cannot read is not taken for one that is not there' tells_unreadable_logs
	verdict 'bytes that are not UTF-8 are escaped, in lines of any length' escapes_bytes
	verdict 'scripts/with-cluster --set can set a list of libraries' writes_settings
	verdict 'scripts/make-site empties no folder that it has not made' keeps_other_sites
	verdict 'a server that outlives its script does not hold the lock' server_holds_no_lock
	verdict 'scripts/test --forget stops the servers of killed runs' forgets_killed_runs
	if [[ -e $repository/.github/workflows/test.yml ]]; then verdict 'the public workflow runs what the tests run' workflow_agrees; fi
	verdict 'files are as .editorconfig says' style_holds
	if has_clang_format; then verdict 'the C++ is laid out as .clang-format says' layout_holds; else skip 'there is no clang-format 14'; fi
	verdict 'no UPDATE in the pages, the demo or the SQL calls tbf_decay without a time' decays_with_a_time
}
