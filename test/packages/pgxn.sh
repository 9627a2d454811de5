#!/bin/bash
#
# pgxn.sh: install the archive for PGXN with the PGXN client on a bare system.
#
# usage: test/packages/pgxn.sh ARCHIVE
#
# Installs, loads, dumps with, unloads and uninstalls what ARCHIVE has.

set -euo pipefail
. "$(dirname "$0")/common.sh"

archive=$(readlink -f "$1")
make_work_directory
chmod 777 "$WORK"
cd "$WORK"
"$TREE/scripts/install_dependencies.sh"
apt install pgxnclient
major=$(pg_major)
bindir=/usr/lib/postgresql/$major/bin
quietly pg_createcluster "$major" main --start --pgoption=listen_addresses=
PGPORT=$(pg_conftool -s "$major" main show port)	# 5432 may be taken outside
export PGPORT
quietly pgxn install --pg_config="$bindir/pg_config" "$archive"
as_postgres pgxn load --pg_config="$bindir/pg_config" --yes --dbname=postgres "$archive"
as_postgres "$bindir/pg_pardump" --file="$WORK/dump" postgres
as_postgres pg_restore --list "$WORK/dump"
grep -q 'EXTENSION - pg_pardump' command.log || die "the extension was not loaded"
as_postgres pgxn unload --pg_config="$bindir/pg_config" --yes --dbname=postgres "$archive"
quietly pgxn uninstall --pg_config="$bindir/pg_config" "$archive"
if find /usr -name '*pg_pardump*' | grep .; then
	die "uninstalled files are left"
fi
log "$(basename "$archive") was installed by pgxn for PostgreSQL $major, tried and removed"
