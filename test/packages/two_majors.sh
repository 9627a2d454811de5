#!/bin/bash
#
# two_majors.sh: use the packages of two majors side by side, as on a system
# that was upgraded to a newer release and kept its older cluster.
#
# usage: test/packages/two_majors.sh DIRECTORY SUITE DIRECTORY
#
# The first directory has the packages of this release, the second those of the
# older release SUITE.

set -euo pipefail
. "$(dirname "$0")/common.sh"

make_work_directory
chmod 777 "$WORK"
sed "s/ $(. /etc/os-release && echo "$VERSION_CODENAME")/ $2/" /etc/apt/sources.list >/etc/apt/sources.list.d/older.list
apt update
apt install "$(readlink -f "$1")"/*.deb "$(readlink -f "$3")"/postgresql-*.deb
AUTOPKGTEST_TMP=$WORK quietly "$TREE/debian/tests/dump-and-restore"

# A port alone names the cluster, and with it the major of all programs.
for dir in /usr/lib/postgresql/*; do
	major=$(basename "$dir")
	quietly pg_createcluster "$major" try --start --pgoption=listen_addresses=
	port=$(pg_conftool -s "$major" try show port)
	as_postgres createdb -p "$port" target
	as_postgres pg_pardump -p "$port" -f "$WORK/$major.dump" postgres
	as_postgres pg_pardump -p "$port" --target="port=$port dbname=target" postgres
	as_postgres pg_restore -l "$WORK/$major.dump"
	grep -q "Dumped by pg_dump version: $major" "$WORK/command.log" ||
		die "the cluster at port $port was not dumped by $major"
	log "port $port: dumped and copied by $major"
done
