#!/bin/bash
#
# container.sh: build the container's image by buildah, and try it.
#
# usage: test/packages/container.sh
#
# Runs in a bare root of the release that the image is of, which is the base
# itself; its PostgreSQL is the only major of the image, and runs outside.

set -euo pipefail
. "$(dirname "$0")/common.sh"

# buildah asks for higher limits than a machine may give.
limit()
{
	ulimit "-H$1" | sed 's/^unlimited$/-1/'
}

engine()
{
	buildah --root "$WORK/storage" --runroot "$WORK/run" "$@"
}

# Run the entry point in the container, as podman would.
run_container()
{
	engine run --isolation chroot --env PGHOST=127.0.0.1 --env PGPORT="$port" --env PGUSER=backup \
		--env PGPASSWORD=secret --volume "$WORK/backup:/backup" "$name" -- /usr/local/bin/entry_point.sh "$@"
}

make_work_directory
# Before anything is installed.
tar --one-file-system -C / --exclude=./tmp --exclude=./var/tmp --exclude=./checkout -cf "$WORK/base.tar" .
apt update
apt install buildah netavark postgresql
limits=(--ulimit "nofile=$(limit n):$(limit n)" --ulimit "nproc=$(limit u):$(limit u)")
base=$(engine from "${limits[@]}" scratch)
engine add --quiet "$base" "$WORK/base.tar" / >/dev/null
quietly engine run --isolation chroot "$base" -- mkdir -p -m 1777 /tmp /var/tmp
quietly engine commit "$base" localhost/base
engine rm "$base" >/dev/null

major=$(basename /usr/lib/postgresql/*)
quietly engine build "${limits[@]}" --isolation chroot --pull-never --build-arg BASE=localhost/base \
	--build-arg PGDG=no --build-arg MAJORS="$major" \
	--file "$TREE/packaging/container/Containerfile" --tag localhost/pg_pardump "$TREE"
name=$(engine from "${limits[@]}" --pull-never localhost/pg_pardump)

# pg_conftool takes 127.0.0.1 for a number, and does not quote it
quietly pg_conftool "$major" main set listen_addresses localhost
quietly pg_ctlcluster "$major" main start
port=$(pg_conftool -s "$major" main show port)
export PGPORT=$port
run_sql "CREATE ROLE backup LOGIN SUPERUSER PASSWORD 'secret'"
run_sql "CREATE DATABASE shop"
as_postgres psql -Xqc 'CREATE TABLE t AS SELECT g, md5(g::text) FROM generate_series(1, 50000) g' shop
mkdir "$WORK/backup"
chown 10001:10001 "$WORK/backup"
chmod 711 "$WORK"

[ "$(run_container id -u)" = 10001 ] || die "the container is not run by its user"
if run_container sh -c 'touch /etc/x /usr/x' 2>"$WORK/refused"; then
	die "the container's user may change the image"
fi
run_container --version >"$WORK/version"
grep -q "^pg_pardump .* (PostgreSQL $major" "$WORK/version" || die "another version: $(cat "$WORK/version")"
quietly run_container -j2 --max-table-segment-pages=50 -f /backup/shop shop
quietly run_container --verify=/backup/shop
[ "$(stat -c %u:%a "$WORK/backup/shop")" = 10001:700 ] || die "the archive does not belong to the container's user"
run_sql "CREATE DATABASE shop2"
quietly run_container pg_parrestore -j2 -d shop2 /backup/shop
[ "$(setpriv --reuid=postgres --regid=postgres --init-groups psql -XAtc 'SELECT count(*), sum(g) FROM t' shop2)" = '50000|1250025000' ] ||
	die "other rows were restored"
if PG_MAJOR=14 engine run --isolation chroot --env PG_MAJOR=14 "$name" -- /usr/local/bin/entry_point.sh --version >"$WORK/refused" 2>&1; then
	die "a major that is not in the image was found"
fi
log "the image was built, and tried: $(cat "$WORK/version")"
