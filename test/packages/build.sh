#!/bin/bash
#
# build.sh: build the Debian packages for the majors of the release that this
# runs on, and check them with lintian.
#
# usage: test/packages/build.sh >PACKAGES.tar
#
# What is built goes to standard output, the one way out of a root.  An error or
# a warning of lintian is a failure.

set -euo pipefail
. "$(dirname "$0")/common.sh"

exec 3>&1 >&2
make_work_directory
copy_tree "$WORK/pg-pardump"
cd "$WORK/pg-pardump"
apt update
apt install dpkg-dev lintian
apt build-dep ./
quietly pg_buildext updatecontrol
log "building"
DEB_BUILD_OPTIONS=noautodbgsym quietly dpkg-buildpackage --no-sign
log "lintian $(dpkg-query -W -f '${Version}' lintian)"
lintian --allow-root --fail-on=error,warning --display-info "$WORK"/*.changes
cd "$WORK"
tar -cf - ./*.{deb,dsc,tar.xz,buildinfo,changes} >&3
