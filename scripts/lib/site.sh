# shellcheck shell=bash
# site.sh: builds the site of the documentation. Sourced after common.sh and packages.sh, whose functions and variables
# it uses.
# shellcheck disable=SC2154

# Debian's Python, because it has Debian's modules, whatever Python is first in the path.
site_python=/usr/bin/python3

want_site() {
	want mkdocs command -v mkdocs
	want mkdocs-material test -d /usr/share/mkdocs/themes/material
	want perl command -v perl
}

# Prints the pages and pictures of the repository, and other files to which pages link.
site_files() {
	(cd "$repository" && find . \( -path ./.git -o -path ./build -o -path ./packages -o -path ./regress -o -path ./debian -o -path ./docs/site \) -prune \
		-o \( -name '*.md' -o -name '*.svg' -o -path ./LICENSE -o -path ./META.json \) -type f -print0)
}

# build_site FOLDER: builds the site in FOLDER. Replaces what was there, if that was made by this function.
build_site() {
	local folder=$1 mark=.streambloom-site staging status=0
	[[ ! -e $folder || -e $folder/$mark || $folder == "$repository/build/site" || -z $(ls -A "$folder") ]] \
		|| die "$folder is neither empty nor made by scripts/make-site, which marks its folders with a file $mark"
	staging=$(mktemp -d)
	mkdir -p "$staging/pages" "$folder"
	touch "$folder/$mark"
	site_files | tar -C "$repository" --null -T - -cf - | tar -C "$staging/pages" -xf -
	find "$staging/pages" -name '*.md' -exec perl "$here/lib/site.pl" {} +
	find "$staging/pages" -name index.md -execdir mv {} index-method.md \;
	cp "$repository/docs/site/mkdocs.yml" "$staging"
	cp "$repository/docs/site/site.css" "$staging/pages"
	# Python prints warnings that are not about our pages, and so does the theme, about another site generator.
	(cd "$staging" && mkdocs build --strict --clean -d "$folder" >log 2>&1) || status=$?
	if ((status != 0)); then sed 's/\x1b\[[0-9;]*m//g' "$staging/log" | grep -E '^(WARNING|ERROR|Error|Aborted|[A-Za-z.]+Error)' >&2 || cat "$staging/log" >&2; fi
	rm -rf "$staging"
	((status == 0)) || die 'MkDocs could not build the site'
}
