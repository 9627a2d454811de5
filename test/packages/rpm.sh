#!/bin/bash
#
# rpm.sh: have rpmbuild make the RPM packages on Debian, and look at them.
#
# usage: test/packages/rpm.sh ARCHIVE
#
# ARCHIVE is that for PGXN, which is the spec's source.  What the spec requires
# are names of another distribution, so they are not asked for, and PostgreSQL
# is where Debian has it.

set -euo pipefail
. "$(dirname "$0")/common.sh"

archive=$(readlink -f "$1")
make_work_directory
"$TREE/scripts/install_dependencies.sh"
apt install rpm cpio unzip
major=$(pg_major)
mkdir -p "$WORK/rpm/SOURCES"
cp "$archive" "$WORK/rpm/SOURCES/"
# Debian's rpm has nothing that takes the symbols out.
quietly rpmbuild -ba --nodeps --define 'debug_package %{nil}' --define "_topdir $WORK/rpm" --define "pgmajorversion $major" \
	--define "pginstdir /usr/lib/postgresql/$major" --define "pgsharedir /usr/share/postgresql/$major" \
	"$TREE/packaging/rpm/pg_pardump.spec"
rpm -qlp "$WORK"/rpm/RPMS/*/*.rpm >"$WORK/files"
for file in "/usr/lib/postgresql/$major/bin/pg_"{pardump,parrestore,parbasebackup} \
	"/usr/lib/postgresql/$major/lib/pg_pardump.so" \
	"/usr/lib/postgresql/$major/lib/plugins/pg_pardump.so" \
	"/usr/share/postgresql/$major/extension/pg_pardump.control" \
	"/usr/share/postgresql/$major/pg_pardump_report.html" \
	"/usr/share/postgresql/$major/pg_pardump/grafana_dashboard.json" \
	"/usr/lib/postgresql/$major/bin/pg_pardump_backup" \
	"/usr/lib/systemd/system/pg_pardump_backup@.timer"; do
	grep -qxF "$file" "$WORK/files" || die "no package has $file"
done
# rpmbuild compresses them only where a distribution has its own.
for page in pg_{pardump,parrestore,parbasebackup,pardump_backup}; do
	grep -qE "^/usr/share/postgresql/$major/man/man1/$page\\.1(\\.gz)?\$" "$WORK/files" ||
		die "no package has the man page of $page"
done
[ -e "$(echo "$WORK"/rpm/SRPMS/*.src.rpm)" ] || die "there is no source package"

# The programs run where they are unpacked.
mkdir "$WORK/root"
for package in "$WORK"/rpm/RPMS/*/*.rpm; do
	(cd "$WORK/root" && rpm2cpio "$package" | cpio -id --quiet)
done
"$WORK/root/usr/lib/postgresql/$major/bin/pg_pardump" --version >"$WORK/version"
log "rpmbuild made" "$(cd "$WORK/rpm/RPMS" && echo */*.rpm):" "$(cat "$WORK/version")"
