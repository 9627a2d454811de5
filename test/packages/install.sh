#!/bin/bash
#
# install.sh: install, try, upgrade and remove the packages on a bare system.
#
# usage: test/packages/install.sh DIRECTORY
#
# DIRECTORY has the packages.  The same with a lower version are installed
# first, and PostgreSQL with them; then these; then they are removed, which must
# leave no file that was not there before.  At the end autopkgtest runs
# debian/tests.

set -euo pipefail
. "$(dirname "$0")/common.sh"

make_older()
{
	local deb

	mkdir "$WORK/older"
	for deb in "$packages"/*.deb; do
		dpkg-deb --raw-extract "$deb" "$WORK/unpacked"
		sed -i '/^Version:/s/$/~older/' "$WORK/unpacked/DEBIAN/control"
		dpkg-deb --root-owner-group --build "$WORK/unpacked" "$WORK/older" >/dev/null
		rm -r "$WORK/unpacked"
	done
}

# All files but those that others change meanwhile.
list_files()
{
	find / -xdev \( -path /proc -o -path /tmp -o -path /var/tmp -o -path /checkout -o -path /run \
		-o -path /var/cache -o -path /var/log -o -path /var/lib/apt \
		-o -path '/var/lib/dpkg/*-old' \) -prune -o -print | sort
}

# What debian/tests does on clusters that it makes, and a dump of the main
# cluster, where the extension stays through the upgrade.
try()
{
	mkdir -m 777 "$WORK/$1"
	AUTOPKGTEST_TMP=$WORK/$1 quietly "$TREE/debian/tests/dump-and-restore"
	as_postgres pg_pardump --file="$WORK/$1/main" postgres
	log "$1:" "$(dpkg-query -W -f '${Package} ${Version}, ' '*pg-pardump')"
}

packages=$(cd "$1" && pwd)
make_work_directory
chmod 755 "$WORK"
cd "$WORK"
make_older
apt update
apt install "$WORK"/older/*.deb
major=$(basename /usr/lib/postgresql/*)
quietly pg_conftool "$major" main set listen_addresses ''
quietly pg_ctlcluster "$major" main start
run_sql "CREATE EXTENSION pg_pardump"
try installed
apt install "$packages"/*.deb
run_sql "ALTER EXTENSION pg_pardump UPDATE"
try upgraded
"$TREE/test/packages/restore_test.sh"
quietly pg_ctlcluster "$major" main stop

# PostgreSQL stays, so that what differs is ours.
quietly apt-mark manual postgresql-common "postgresql-$major"
apt purge '*pg-pardump'
list_files >before
apt install "$packages"/*.deb
apt purge '*pg-pardump'
list_files >after
diff before after || die "removed packages leave files"
if find /usr /etc/postgresql* /var/lib -name '*pardump*' | grep .; then
	die "removed packages leave files"
fi
log "removed, nothing is left"

apt install autopkgtest dpkg-dev
quietly autopkgtest "$packages"/*.changes -- null
log "autopkgtest:" "$(grep -m 1 '^dump-and-restore' command.log)"
