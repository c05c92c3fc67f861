# shellcheck shell=bash
# images.sh: two images of containers, made without a daemon: PostgreSQL with the extension, as the Dockerfile says, and the
# extension's files alone, as CloudNativePG mounts them into PostgreSQL 18 and later. Sourced after test-packages.sh, whose
# functions it calls.
# shellcheck disable=SC2154

# blob FOLDER FILE: moves a file to where an OCI layout has it, and prints its digest.
blob() {
	local sum
	sum=$(sha256sum <"$2") && sum=${sum%% *} && mv "$2" "$1/blobs/sha256/$sum" && printf 'sha256:%s' "$sum"
}

# extension_image DEB TAG FILE: writes an image of the extension's files in the package DEB, an OCI layout in a tar file. The
# same package gives the same bytes.
extension_image() {
	local deb=$1 tag=$2 file=$3 made oci pack diff layer manifest size
	made=$(mktemp -d) && oci=$made/oci && mkdir -p "$oci/blobs/sha256" "$made"/root/{lib,share,licenses/streambloom} && dpkg-deb -x "$deb" "$made/deb" || return
	cp -r "$made"/deb/usr/share/postgresql/*/extension "$made/root/share" && cp "$made"/deb/usr/lib/postgresql/*/lib/streambloom.so "$made/root/lib" \
		&& cp "$repository/LICENSE" "$made/root/licenses/streambloom" || return
	pack=(tar --sort=name --owner=0 --group=0 --numeric-owner --mode='u+rw,go+r,go-w' "--mtime=$(stat -c @%Y "$made"/deb/usr/lib/postgresql/*/lib/streambloom.so)")
	"${pack[@]}" -C "$made/root" -cf "$made/layer" lib share licenses || return
	diff=sha256:$(sha256sum <"$made/layer" | cut -d' ' -f1) size=$(stat -c %s "$made/layer")
	layer=$(blob "$oci" "$made/layer")
	printf '{"architecture":"%s","os":"linux","config":{},"rootfs":{"type":"layers","diff_ids":["%s"]}}' "$(dpkg-deb -f "$deb" Architecture)" "$diff" >"$made/config"
	printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"%s","size":%d},"layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar","digest":"%s","size":%d}]}' \
		"sha256:$(sha256sum <"$made/config" | cut -d' ' -f1)" "$(stat -c %s "$made/config")" "$layer" "$size" >"$made/manifest"
	blob "$oci" "$made/config" >/dev/null && size=$(stat -c %s "$made/manifest") && manifest=$(blob "$oci" "$made/manifest") || return
	printf '{"imageLayoutVersion":"1.0.0"}' >"$oci/oci-layout"
	printf '{"schemaVersion":2,"manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"%s","size":%d,"annotations":{"org.opencontainers.image.ref.name":"%s"}}]}' \
		"$manifest" "$size" "$tag" >"$oci/index.json"
	"${pack[@]}" -C "$oci" -cf "$file" . && rm -rf "$made"
}

# extension_image_works ROOT FILE: a PostgreSQL 18 or later in the system ROOT, which has no streambloom, finds the extension in
# the unpacked image as CloudNativePG mounts it, and preloads it.
extension_image_works() {
	local root=$1 mount=$1/extensions/streambloom layout
	layout=$(mktemp -d) && mkdir -p "$mount" && tar -xf "$2" -C "$layout" || return
	perl -MJSON::PP -MDigest::SHA -e '
		my ($folder, $to) = @ARGV;
		sub content { open(my $file, "<:raw", $_[0]) or die "$_[0]: $!\n"; local $/; <$file> }
		sub blob { my ($of) = @_; my ($sum) = $of->{digest} =~ /^sha256:(.*)/; my $file = "$folder/blobs/sha256/$sum"; my $bytes = content($file);
			Digest::SHA::sha256_hex($bytes) eq $sum && length $bytes == $of->{size} or die "$file is not what its digest says\n"; return ($bytes, $file) }
		my $manifest = decode_json((blob(decode_json(content("$folder/index.json"))->{manifests}[0]))[0]);
		my $config = decode_json((blob($manifest->{config}))[0]);
		my ($bytes, $layer) = blob($manifest->{layers}[0]);
		"sha256:" . Digest::SHA::sha256_hex($bytes) eq $config->{rootfs}{diff_ids}[0] or die "the layer is another than that of the configuration\n";
		exit system("tar", "-xf", $layer, "-C", $to) >> 8' "$layout" "$mount" || return
	rm -rf "$layout"
	printf "%s\n" "extension_control_path = '/extensions/streambloom/share:\$system'" "dynamic_library_path = '/extensions/streambloom/lib:\$libdir'" \
		'session_preload_libraries = streambloom' >"$(echo "$root"/etc/postgresql/*/main/conf.d)/image.conf"
	in_system "$root" --net sh -euc '
		cd /tmp
		version=$(ls /etc/postgresql)
		pg_ctlcluster "$version" main start
		sql() { runuser -u postgres -- psql -XAt -v ON_ERROR_STOP=1 "$@"; }
		test t = "$(sql -q -c "CREATE EXTENSION streambloom" -c "SELECT bf_agg(i) @> 42 FROM generate_series(1, 100) i")"
		sql -c "DROP EXTENSION streambloom"
		pg_ctlcluster "$version" main stop' && rm -r "$root"/extensions "$root"/etc/postgresql/*/main/conf.d/image.conf
}

# container_works: builds the image of the Dockerfile with buildah, and starts a server in it, as its entry point does. Where the
# image of PostgreSQL cannot be had, a Debian with the distribution's packages of PostgreSQL 17 takes its place.
container_works() {
	local image root build=(buildah --root "$work/images" --runroot "$work/images.run")
	mkdir -p "$work/system"
	if ! "${build[@]}" pull -q docker.io/library/postgres:17 2>/dev/null; then
		printf 'the image postgres:17 cannot be had: instead of it Debian with its own packages\n'
		root=$work/system/base
		make_system "$root" trixie >/dev/null 2>&1 && apt_in "$root" install postgresql-17 >/dev/null && mkdir "$root/docker-entrypoint-initdb.d" \
			&& image=$("${build[@]}" from scratch) && "${build[@]}" copy -q "$image" "$root" / && "${build[@]}" commit -q --rm "$image" docker.io/library/postgres:17 \
			&& rm -rf --one-file-system "$root" || return
	fi
	"${build[@]}" build --isolation chroot --pull-never --build-arg PG_MAJOR=17 -t streambloom "$repository" && image=$("${build[@]}" from --pull-never localhost/streambloom) \
		&& root=$("${build[@]}" mount "$image") || return
	in_system "$root" --net sh -euc '
		bin=$(echo /usr/lib/postgresql/*/bin)
		install -d -o postgres -m 700 /tmp/data && cd /tmp
		as() { runuser -u postgres -- "$@"; }
		as $bin/initdb -D /tmp/data >/dev/null
		as $bin/pg_ctl -D /tmp/data -w -l /tmp/log -o "-k /tmp -c session_preload_libraries=streambloom" start >/dev/null
		for file in /docker-entrypoint-initdb.d/*; do as psql -X -q -v ON_ERROR_STOP=1 -h /tmp -f "$file"; done
		test t = "$(as psql -XAt -h /tmp -c "SELECT bf_agg(i) @> 42 FROM generate_series(1, 100) i")"
		as $bin/pg_ctl -D /tmp/data stop >/dev/null'
	local status=$?
	"${build[@]}" rm -a >/dev/null && "${build[@]}" rmi -a -f >/dev/null
	return "$status"
}
