# shellcheck shell=bash
# test-site.sh: the suite "site" of scripts/test. Builds the documentation's site, and looks at it with headless
# Chromium. Also has a check of the suite "checks". Sourced by scripts/test, whose functions it calls.
# shellcheck disable=SC2154,SC2317

want_browser() {
	want chromium command -v chromium
	want chromium-driver command -v chromedriver
	want python3-selenium "$site_python" -c 'import selenium'
	want poppler-utils command -v pdftotext
}

# Each page of docs/ and of bench/results/ must be in the navigation. (The suite "checks" calls this.) Other pages are
# reached by links.
pages_are_listed() {
	local page listed
	listed=$(sed 's/index-method\.md/index.md/' "$repository/docs/site/mkdocs.yml")
	(cd "$repository" && site_files | tr '\0' '\n' | sed -n 's|^\./\(docs/.*\.md\)$|\1|p; s|^\./\(bench/results/.*\.md\)$|\1|p') | while read -r page; do
		grep -qE "(- |: )$page\$" <<<"$listed" || printf '%s is not in the navigation, docs/site/mkdocs.yml\n' "$page"
	done | { ! grep .; }
}

site() {
	local program line show=0
	for program in mkdocs chromium chromedriver pdftotext; do
		if ! command -v "$program" >/dev/null; then
			skip "there is no $program"
			return
		fi
	done
	verdict 'the site is built, and no page has a link that leads nowhere' build_site "$work/site"
	if [[ ! -e $work/site/index.html ]]; then return; fi
	chmod -R a+rX "$work/site"
	# Each check is a line; if something is wrong, it is on indented lines below.
	while IFS= read -r line; do
		case $line in
		'ok '*) ok "${line#ok }" ;;
		'not ok '*) not_ok "${line#not ok }" ;;
		*) printf '      | %s\n' "$line" ;;
		esac
	done < <(as_server "$site_python" "$work/src/scripts/lib/check-site.py" "$work/site" "$work/tmp/browser" 2>&1 || printf 'not ok the browser looked at all pages\n')
}
