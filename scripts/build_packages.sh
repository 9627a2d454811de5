#!/bin/bash
#
# build_packages.sh: build the Debian packages and try them on bare systems.
#
# usage: scripts/build_packages.sh [SUITE...]
#
# For each release of Debian, by default bookworm (PostgreSQL 15), trixie (17)
# and forky (18), it builds the packages in a root of that release, as
# scripts/chroot.sh makes it, lets lintian check them, and in a bare root
# installs, tries, upgrades and removes them.  The same is done there with the
# archive for PGXN, of HEAD, and with the packages of two majors side by side if
# trixie and forky were built.  Then rpmbuild makes the RPM packages on the first
# release, the container's image is built by buildah in a root of trixie, and
# the manifests are held to Kubernetes' schema.  Run it as root.  The packages are left in
# ${PG_PARDUMP_PACKAGES:-/var/tmp/pg_pardump-packages}/SUITE.

set -euo pipefail
. "$(dirname "$0")/common.sh"

PACKAGES=${PG_PARDUMP_PACKAGES:-/var/tmp/pg_pardump-packages}

# A copy of the checkout, with the packages: what a root can see.
enter()
{
	run_job "$WORK/tree/scripts/chroot.sh" "$@"
}

build()
{
	local suite=$1

	log "$suite: building"
	mkdir -p "$WORK/tree/packages/$suite"
	enter "$suite" test/packages/build.sh >"$WORK/built.tar"
	tar -C "$WORK/tree/packages/$suite" -xf "$WORK/built.tar"
	rm -rf "${PACKAGES:?}/$suite"
	mkdir -p "$PACKAGES"
	cp -r "$WORK/tree/packages/$suite" "$PACKAGES/"
}

try()
{
	local suite=$1

	log "$suite: trying the packages"
	enter --bare "$suite" test/packages/install.sh "packages/$suite"
	log "$suite: trying the archive for PGXN"
	enter --bare "$suite" test/packages/pgxn.sh "$archive"
}

case ${1:-} in
	--help | -h) print_help; exit 0 ;;
	-*) die "unknown option \"$1\"; see --help" ;;
esac
[ "$EUID" -eq 0 ] || die "run this as root"
if [ $# -eq 0 ]; then
	# shellcheck disable=SC2046 # one word a release
	set -- $(tr ' ' '\n' <<<"$RELEASES" | cut -d: -f2)
fi
"$TREE/scripts/install_dependencies.sh" --chroots
make_work_directory
copy_tree "$WORK/tree"
make -s -C "$TREE" dist DIST_DIR="$WORK/tree"
archive=$(cd "$WORK/tree" && ls pg_pardump-*.zip)
for suite; do
	build "$suite"
	try "$suite"
done
if [[ " $* " == *" trixie "* && " $* " == *" forky "* ]]; then
	log "trying the packages of two majors side by side"
	enter --bare forky test/packages/two_majors.sh packages/forky trixie packages/trixie
fi
log "trying the RPM spec"
enter --bare "$1" test/packages/rpm.sh "$archive"
log "trying the container file"
enter --bare trixie test/packages/container.sh
log "trying the manifests"
run_job "$TREE/scripts/validate_manifests.sh"
log "the packages are in \"$PACKAGES\""
