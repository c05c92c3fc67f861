# shellcheck shell=bash
# log.sh: reads access logs. Sourced after common.sh.

# find_log NAME: prints where the file is: as named, or in $STREAMBLOOM_DATA.
find_log() {
	local name=$1
	if [[ -f $name ]]; then
		realpath "$name"
	elif [[ -n $STREAMBLOOM_DATA && $name != */* && -f $STREAMBLOOM_DATA/$name ]]; then
		realpath "$STREAMBLOOM_DATA/$name"
	else
		die "there is no file $name${STREAMBLOOM_DATA:+, neither here nor in $STREAMBLOOM_DATA}"
	fi
}

# read_log FILE: its lines, unpacked, ready for COPY.
read_log() {
	case $1 in
	*.gz) gzip -dc -- "$1" ;;
	*.xz) xz -dc -- "$1" ;;
	*) cat -- "$1" ;;
	esac | escape_bytes
}

# has_hits FILE: is there any line in it that may be one of an access log in Apache combined format? Also true if it cannot be
# unpacked yet.
has_hits() {
	if [[ $1 == *.xz ]] && ! command -v xz >/dev/null; then
		return 0
	fi
	[[ -z $(read_log "$1" 2>/dev/null | grep -m 1 -E '^[^ "]+ [^ "]+ ([^ "]+|"") \[[0-9]{2}/[A-Za-z]{3}/[0-9]{4}:') ]] || return 0
	read_log "$1" >/dev/null || die "$1 cannot be read to its end"
	return 1
}

# Control bytes and what is not UTF-8 become \xHH, as Apache writes them itself: COPY would stop there. So would it at a
# line that is "\." alone. Line ends of Windows go.
escape_bytes() {
	perl -ne '
		BEGIN { $utf8 = qr/\A(?:[\x00-\x7f]++|[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}
			|\xed[\x80-\x9f][\x80-\xbf]|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2})*\z/x }
		s/\r?\n\z//;
		s/([\x00-\x08\x0a-\x1f\x7f])/sprintf "\\x%02x", ord $1/ge;
		s/([\x80-\xff])/sprintf "\\x%02x", ord $1/ge if /[\x80-\xff]/ && !/$utf8/;
		$_ = "\\x5c." if $_ eq "\\.";
		print $_, "\n"'
}
