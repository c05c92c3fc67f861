# shellcheck shell=bash
# drivers.sh: installs what `scripts/test drivers` needs to run the programs of docs/drivers.md. Sourced after
# common.sh and packages.sh.
# shellcheck disable=SC2154

has_python_module() { python3 -c "import $1" || /usr/bin/python3 -c "import $1"; }
has_node_module() { NODE_PATH=${NODE_PATH:-}:/usr/share/nodejs node -e "require('$1')"; }

want_drivers() {
	local module major=/usr/share/gocode/src/github.com/jackc/pgx/v
	for module in psycopg psycopg2 sqlalchemy django pandas; do want "python3-$module" has_python_module "$module"; done
	want libpostgresql-jdbc-java test -e /usr/share/java/postgresql.jar
	want default-jdk-headless command -v javac
	want r-cran-rpostgresql Rscript -e 'library(RPostgreSQL)'
	want golang-go command -v go
	if known_packages golang-github-jackc-pgx-v4-dev; then
		want golang-github-jackc-pgx-v4-dev test -e "${major}4"
	else
		want golang-github-jackc-pgx-v5-dev test -e "${major}5"
	fi
	want nodejs command -v node
}

# prepare_drivers: installs the drivers that this distribution has, and leaves the others out.
prepare_drivers() {
	local package known=() wanted
	can_install && command -v apt-get >/dev/null || return 0
	known_packages python3-psycopg2 || update_packages
	missing=()
	want_drivers
	wanted=("${missing[@]}")
	for package in "${wanted[@]}"; do
		if known_packages "$package"; then known+=("$package"); else printf '  going on without: %s\n' "$package"; fi
	done
	((${#known[@]} == 0)) || (install_packages "${known[@]}") || for package in "${known[@]}"; do
		(install_packages "$package") || printf '  going on without: %s\n' "$package"
	done
}

# prepare_node: installs node-pg, by npm into $work, or else from Debian. Call it when $work exists.
prepare_node() {
	command -v node >/dev/null || return 0
	has_node_module pg 2>/dev/null && return
	if command -v npm >/dev/null && run_logged "$work/npm.log" npm install --prefix "$work/node" --no-audit --no-fund pg; then
		export NODE_PATH=$work/node/node_modules
	elif command -v apt-get >/dev/null && can_install && known_packages node-pg; then
		(install_packages node-pg) || true
	fi
}
