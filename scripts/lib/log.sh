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
