# shellcheck shell=bash
# log.sh: reads access logs. Sourced after common.sh.

# find_log NAME: prints the path of a log: NAME itself, or the file of that name in $STREAMBLOOM_DATA.
find_log() {
	local name=$1
	if [[ -f $name && ! -r $name ]] || is_shut "$name"; then
		die "$name cannot be read by the user $(id -un): use sudo, or a copy that this user can read"
	elif [[ -f $name ]]; then
		realpath "$name"
	elif [[ -n $STREAMBLOOM_DATA && $name != */* && -f $STREAMBLOOM_DATA/$name ]]; then
		realpath "$STREAMBLOOM_DATA/$name"
	else
		die "there is no file $name${STREAMBLOOM_DATA:+, neither here nor in $STREAMBLOOM_DATA}"
	fi
}

# is_shut NAME: succeeds if the user cannot enter the folder in which NAME would be, and so cannot see whether it
# exists.
is_shut() {
	local folder
	folder=$(dirname -- "$1")
	until [[ -e $folder ]]; do folder=$(dirname -- "$folder"); done
	[[ -d $folder && ! -x $folder ]]
}

# packed_by FILE: prints gzip or xz, depending on the first bytes; nothing if the file is not packed.
packed_by() {
	case $(head -c 6 -- "$1" | od -An -tx1 | tr -d ' \n') in
	1f8b*) printf 'gzip' ;;
	fd377a585a00) printf 'xz' ;;
	esac
}

# read_log FILE: prints the lines of the file, unpacked and ready for COPY.
read_log() {
	local packer
	packer=$(packed_by "$1")
	if [[ -n $packer ]]; then "$packer" -dc -- "$1"; else cat -- "$1"; fi | escape_bytes
}

# The formats that format_of() can print. Each line has the name of a recipe of docs/logs.md, and an example of such a
# log's lines.
known_formats() {
	cat <<-'FORMATS'
		apache	192.0.2.7 - - [01/Mar/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 5120 "-" "Mozilla/5.0"     (Apache, nginx)
		json	{"time": "2026-03-01T10:00:00Z", "remote_addr": "192.0.2.7", "request_uri": "/", ...}
		caddy	{"ts": 1772359200, "request": {"remote_ip": "192.0.2.7", "uri": "/", ...}, ...}
		w3c	#Fields: date time c-ip cs-method cs-uri-stem sc-status ...                                (IIS, CloudFront)
		alb	https 2026-03-01T10:00:00.000000Z app/balancer/50dc6c49 192.0.2.7:2817 ...                 (AWS ALB, ELB)
		s3	79a59df900b9 bucket [01/Mar/2026:10:00:00 +0000] 192.0.2.7 - 3E57427F REST.GET.OBJECT ...  (Amazon S3)
		squid	1772359200.000    919 192.0.2.7 TCP_MISS/200 5120 GET http://www.example.com/ ...
		haproxy	192.0.2.7:33317 [01/Mar/2026:10:00:00.000] http-in static/srv1 10/0/30/69/109 200 ...
	FORMATS
}

# format_of FILE: prints the format of the first line that has one. Returns 1 if no line has a format, 2 if all lines
# are blank or there is none.
format_of() {
	local status=0
	read_log "$1" 2>/dev/null | perl -ne '
		BEGIN { $day = qr{\d\d/\w\w\w/\d{4}:\d\d:\d\d:\d\d}; $zone = qr{[+-]\d{4}} }
		next if !/\S/;
		$some = 1;
		if (/^\s*\{/)
		{
			$format = "caddy" if /"ts"\s*:/ && /"request"\s*:\s*\{/ && /"uri"\s*:/;
			$format ||= "json" if /"(?:time|ts|timestamp|\@timestamp|time_iso8601|time_local|msec|datetime|StartUTC|EdgeStartTimestamp|date)"\s*:/
				&& /"(?:request|request_uri|uri|url|path|RequestPath|ClientRequestURI|httpRequest)"\s*:/;
		}
		elsif (/^#Fields:.*\sc-ip\s/) { $format = "w3c" }
		elsif (/^[^ "]+ [^"]*\[$day $zone\] "/) { $format = "apache" }
		elsif (/^\S+ \S+ \[$day $zone\] \S+ \S+ \S+ [A-Z0-9]+\.[A-Z0-9_.]+ /) { $format = "s3" }
		elsif (/^(?:[a-z0-9]+ )?\d{4}-\d\d-\d\dT[0-9:.]+Z \S+ \S+:\d+ /) { $format = "alb" }
		elsif (m{^\d+\.\d{3} +\d+ \S+ [A-Z_]+/\d{3} }) { $format = "squid" }
		elsif (/\S+:\d+ \[$day\.\d+\] \S+ \S+ [-+0-9\/]+ /) { $format = "haproxy" }
		if ($format) { print $format; exit }
		END { $? = $format ? 0 : $some ? 1 : 2 }' || status=${PIPESTATUS[1]}
	return "$status"
}

# names_in FILE: prints the names in the file's first JSON document, for an error message.
names_in() {
	read_log "$1" 2>/dev/null | perl -ne 'next if !/^\s*\{/; my %seen; print join ", ", grep { !$seen{$_}++ } /"([^"\\]{1,40})"\s*:/g; exit'
}

# recipe NAME: prints the block of docs/logs.md that has this name.
recipe() {
	awk -v mark="<!-- recipe: $1 -->" '
		$0 == mark { wanted = 1 }
		/^```$/ && on { found = 1; exit }
		on
		wanted && /^```sql$/ { on = 1 }
		END { exit !found }' "$repository/docs/logs.md" || die "docs/logs.md has no recipe $1"
}

# Replaces control bytes by \xHH, as Apache itself does, but not tabs. In a line that is not UTF-8 it replaces all bytes
# that are not ASCII, too. COPY would stop at such a byte, and at a line with only "\.", which is replaced as well.
# Removes the line ends of Windows, and the byte order mark at the beginning of a file.
escape_bytes() {
	perl -ne '
		BEGIN { $character = qr/[\x00-\x7f]++|[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}
			|\xed[\x80-\x9f][\x80-\xbf]|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2}/x }
		s/\r?\n\z//;
		s/\A\xef\xbb\xbf// if $. == 1;
		s/([\x00-\x08\x0a-\x1f\x7f])/sprintf "\\x%02x", ord $1/ge;
		s/([\x80-\xff])/sprintf "\\x%02x", ord $1/ge if /[\x80-\xff]/ && (s/$character//gr ne "");
		$_ = "\\x5c." if $_ eq "\\.";
		print $_, "\n"'
}
