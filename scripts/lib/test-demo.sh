# shellcheck shell=bash
# test-demo.sh: the suite "demo" of scripts/test. Runs scripts/demo in the server of the tests, on made-up, real and
# broken logs, and scripts/generate-log. Sourced by scripts/test, whose functions it calls.
# shellcheck disable=SC2154,SC2317

# run_demo [ARGUMENT...]: runs scripts/demo in this server.
run_demo() { STREAMBLOOM_CLUSTER=$work "$here/demo" "$@" >"$work/demo.out" 2>&1; }

# demo_checks NAME [ARGUMENT...]: runs the demo, which must succeed. Each check that it prints is a test.
demo_checks() {
	local name=$1 status=0 line
	shift
	run_demo "$@" || status=$?
	while IFS= read -r line; do
		case $line in
		'[ok] '*) ok "$name: ${line#\[*\] *  }" ;;
		'[FAIL] '*) not_ok "$name: ${line#\[*\] }" ;;
		esac
	done <"$work/demo.out"
	if ((status == 0)); then ok "$name: ends well"; else
		not_ok "$name: ended with $status"
		indent 30 <"$work/demo.out"
	fi
}

# refuses MESSAGE ARGUMENT...: the demo must end with this error message.
refuses() {
	local status=0 message=$1
	shift
	run_demo "$@" || status=$?
	tail -n 5 "$work/demo.out"
	((status != 0)) && grep -q "$message" "$work/demo.out"
}
lacks_filters() { [[ -s $work/demo.out ]] && ! grep 'CREATE TABLE chunk_summary' "$work/demo.out"; }
same_twice() { cmp <("$here/generate-log" --lines 3000) <("$here/generate-log" --lines 3000 --seed 1); }
another_seed_differs() { ! cmp -s <("$here/generate-log" --lines 3000) <("$here/generate-log" --lines 3000 --seed 2); }

demo() {
	need_build || return 0
	local real=semicomplete-2015.access.log.gz logs=$work/logs
	mkdir -p "$logs"

	verdict 'generate-log: the same options, the same bytes' same_twice
	verdict 'generate-log: another seed, another log' another_seed_differs
	demo_checks 'made-up log' --quick
	if [[ -n $STREAMBLOOM_DATA && -r $STREAMBLOOM_DATA/$real ]]; then
		demo_checks 'real log' "$real"
	else
		skip "real log: $real is not in STREAMBLOOM_DATA"
	fi

	# A log with lines that are no hits, and with bytes and times that are hard to read.
	"$here/generate-log" --lines 500 --days 2 >"$logs/mixed.log"
	printf '%b' '\\.\n' '\n' 'no log\n' 'nul \0, \x01, \x02, \xff\xfe and \xed\xa0\x80\n' \
		'192.0.2.1 - - [31/Feb/2024:00:00:00 +0000] "GET /no-such-day HTTP/1.1" 200 1 "-" "-"\n' \
		'192.0.2.1 - - [01/Mar/2999:00:00:00 +0000] "GET /future HTTP/1.1" 200 1 "-" "-"\n' \
		'192.0.2.1 - - [01/Mar/2024:00:00:00 +0000] "GET /latin-1-\xe9 HTTP/1.1" 200 1 "-" "a \\"quote\\""\r\n' \
		'192.0.2.1 - "" [01/Mar/2024:00:00:00 +0000] "GET /no-user HTTP/1.1" 200 1 "-" "-"\n' \
		'192.0.2.1 - - [01/Mar/2024:23:00:00 -0330] "GET /common-format HTTP/1.1" 200 -' >>"$logs/mixed.log"
	demo_checks 'lines of all kinds' "$logs/mixed.log"
	verdict 'lines of all kinds: those that do not parse are counted' grep -q '^5 lines do not parse' "$work/demo.out"
	verdict 'lines of all kinds: some of them are shown' grep -qx '  no log' "$work/demo.out"
	verdict 'lines of all kinds: so are those from the future' grep -q '^1 lines are stamped in the future' "$work/demo.out"
	"$here/generate-log" --lines 40000 --seed 3 | gzip >"$logs/whole.gz"
	head -c 100000 "$logs/whole.gz" >"$logs/cut.gz"
	printf 'nothing\n' >"$logs/nothing.log"
	printf '192.0.2.1 - - [01/Mar/2024:00:00:00 +0000] nothing\n' >"$logs/almost.log"
	printf '192.0.2.1 - - [01/Mar/2024:00:00:00 +0000] "GET / HTTP/1.1" 200 1\n' >"$logs/one.log"
	printf '192.0.2.1 - - [31/Feb/2024:00:00:00 +0000] "GET / HTTP/1.1" 200 1\n' >"$logs/no-day.log"
	demo_checks 'a log of one line' "$logs/one.log"
	# No address of IPv4, and a host that is too long for a B-tree.
	{
		printf '{"time": "2026-03-01T10:00:00Z", "remote_addr": "::1", "request_uri": "/"}\n'
		perl -e 'srand 1; print q({"time": "2026-03-01T10:00:01Z", "client_ip": "), map({ chr 97 + rand 26 } 1 .. 9000), qq(", "request_uri": "/"}\n)'
	} >"$logs/odd-hosts.log"
	demo_checks 'odd hosts' "$logs/odd-hosts.log"
	verdict 'odd hosts: no B-tree is made' grep -q 'a B-tree on host alone cannot be made' "$work/demo.out"
	verdict 'a log that is cut off is refused' refuses 'cannot be read to its end' "$logs/cut.gz"
	for log in nothing almost no-day; do
		verdict "$log.log, which has no hit, is refused" refuses 'no line has a client, a URL and a time that is not in the future' "$logs/$log.log"
	done
	verdict 'a log without a hit is refused before a filter is made' lacks_filters
	printf '{"event": "login", "when": 1772359200, "peer": "192.0.2.7", "at": "/x"}\n' >"$logs/other.json"
	verdict 'JSON documents with other names are refused, and shown' refuses '^  {"event": "login"' "$logs/other.json"
	demo_checks 'a format on the command line' --format '"when": {time}, "peer": "{client}", "at": "{url}"' "$logs/other.json"
	verdict 'a format on the command line: the fields are the right ones' grep -qE '^ 2026-03-01 10:00:00\+00 \| 192\.0\.2\.7 \| +\| /x +\|' "$work/demo.out"
	verdict 'a format on the command line: empty columns are named' grep -qx 'These columns stayed empty: method, status, bytes, referrer, agent\.' "$work/demo.out"
	verdict 'a format without a client is refused' refuses '^demo: --format needs {time}, {client}' --format '{time} {url}' "$logs/other.json"
	verdict 'a format that is no regular expression is refused' refuses 'is --format a regular expression' --format '({time} {client} {url}' "$logs/other.json"
	# A word before the line that nobody knows.
	printf 'web_1 > %s - [01/Mar/2024:00:00:00 +0000] "GET / HTTP/1.1" 200 1\n' user another third >"$logs/clients.log"
	verdict 'a log whose clients are no computers is refused' refuses 'most of these clients are neither an address nor the name of a computer' "$logs/clients.log"
	demo_checks 'clients that are no computers, by a format' --format '> {client} - \[{time}\] "{request}" {status}' "$logs/clients.log"
	: >"$logs/empty.log"
	verdict 'a log without a line is refused' refuses 'there is no line in empty.log' "$logs/empty.log"
	# Eleven formats in one table, one of the files packed, and a log that has no line yet.
	gzip -c "$repository/test/logs/json.log" >"$logs/json.log.1"
	demo_checks 'logs of all formats' "$logs/empty.log" "$logs/json.log.1" "$repository"/test/logs/{common,vhost_combined,forwarded,caddy,w3c,cloudfront,alb,s3,squid,haproxy}.log
	verdict 'logs of all formats: each has five hits, the broken lines are counted' grep -qzP '\n23 lines do not parse(.*\n)*55 hits of ' "$work/demo.out"
	demo_checks 'all formats in one file' "$repository/test/logs/formats.txt"
	verdict 'all formats in one file: what is no hit is left out' grep -q '^56 hits of 1 hosts' "$work/demo.out"
	verdict 'a file that is not there is refused' refuses 'there is no file' "$logs/none.log"
}
