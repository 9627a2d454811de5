#!/bin/bash
#
# load.sh: time and memory of dumps that are extreme in one way.
#
# usage: bench/load.sh [OPTION]...
#
# Builds, starts a cluster of its own, makes one case after the other and dumps
# it with stock pg_dump and with pg_pardump, with and without the extension.
# Prints a line for each: seconds, and MB of memory of their own that the
# client's and the server's largest process needed, and all of them together,
# the server's temporary files, and the files of the archive.  Judges nothing.  Called by root, all runs as the user postgres.
#
#   --cases=LIST        of workers (64 of them), tables (100,000 empty ones),
#                       columns (1,600), field (900 MB in one), objects
#                       (10,000 large ones), sparse (50 GB of empty heap)
#   --output=DIRECTORY  where archives are written (default /dev/shm)
#   --debian=SUITE      run on that Debian release's PostgreSQL, by
#                       scripts/chroot.sh; needs root
#
# PG_MAJOR is the PostgreSQL major to use, if not the newest installed.

set -euo pipefail
. "$(dirname "$0")/common.sh"

cases=workers,tables,columns,field,objects,sparse

run_sql()
{
	run_job psql -Xqv ON_ERROR_STOP=1 -c "$2" "$1" >/dev/null
}

make_workers()
{
	run_sql workers "CREATE TABLE t AS SELECT n AS id, md5(n::text) AS name FROM generate_series(1, 3000000) n"
}

# Of 1,000 in a transaction: each holds its locks until its end.
make_tables()
{
	cat >"$WORK/tables.sql" <<-'SQL'
		SELECT format('DO $$ BEGIN FOR i IN %s .. %s LOOP EXECUTE ''CREATE TABLE t'' || i || '' (id int)'';'
			' END LOOP; END $$', n, n + 999)
		FROM generate_series(1, 100000, 1000) n
		\gexec
	SQL
	run_job psql -Xqv ON_ERROR_STOP=1 -f "$WORK/tables.sql" tables >/dev/null
}

make_columns()
{
	run_sql columns "DO \$\$ BEGIN
		EXECUTE 'CREATE TABLE t (' || (SELECT string_agg('c' || n || ' int2', ', ') FROM generate_series(1, 1600) n) || ')';
		EXECUTE 'INSERT INTO t SELECT ' || (SELECT string_agg('(g * ' || n || ') % 30000', ', ')
			FROM generate_series(1, 1600) n) || ' FROM generate_series(1, 50000) g';
	END \$\$"
}

make_field()
{
	run_sql field "CREATE TABLE t (id int, field text); ALTER TABLE t ALTER field SET STORAGE EXTERNAL"
	run_sql field "INSERT INTO t VALUES (1, repeat('0123456789', 90000000))"
}

make_objects()
{
	run_sql objects "SELECT lo_from_bytea(0, decode(repeat(md5(n::text), 100 * (1 + n % 10)), 'hex'))
		FROM generate_series(1, 10000) n"
}

# Blocks of zeros are what a server leaves that fell while it extended a table.
# They take no place on the disk here, but a dump reads each of them.  (VACUUM
# would cut them off.)
make_sparse()
{
	local file i

	run_sql sparse "CREATE TABLE t AS SELECT n AS id FROM generate_series(1, 1000) n"
	file=$WORK/cluster/$(psql -XAtc "SELECT pg_relation_filepath('t')" sparse)
	run_job pg_ctl stop --pgdata="$WORK/cluster" --silent --mode=fast
	truncate --size=1G "$file"
	for ((i = 1; i < 50; i++)); do
		truncate --size=1G "$file.$i"
	done
	run_job pg_ctl start --pgdata="$WORK/cluster" --wait --silent --log="$WORK/server.log" \
		-o "-p $PGPORT" >/dev/null
}

# MB that all databases have written to temporary files.
temp_files()
{
	run_job psql -XAtc "SELECT (sum(temp_bytes) / 1048576)::int FROM pg_stat_database" postgres
}

# Dump the case $1 by the command that follows, called $2 in the table.
measure()
{
	local case=$1 name=$2 wall client client_sum server server_sum temp archive=$OUTPUT/archive

	shift 2
	temp=$(temp_files)
	run_job "$TREE/bench/peak.pl" "$(postmaster_pid)" \
		"$@" -f "$archive" "$case" >"$WORK/measured" || die "this failed: $* $case"
	read -r wall client client_sum server server_sum <"$WORK/measured"
	printf '%-8s  %-22s %8s %9s %9s %9s %9s %7s %7s\n' "$case" "$name" "$wall" "$client" "$client_sum" \
		"$server" "$server_sum" "$(($(temp_files) - temp))" "$(find "$archive" -type f | wc -l)"
	rm -rf "$archive"
}

run_case()
{
	local case=$1 jobs=2
	local more=()	# chunks enough for all workers

	log "$case: making data"
	createdb "$case"
	"make_$case"
	run_sql "$case" "CREATE EXTENSION pg_pardump"
	[ "$case" = sparse ] || run_sql "$case" "VACUUM (FREEZE, ANALYZE)"
	if [ "$case" = workers ]; then
		jobs=64
		more=(--max-table-segment-pages=128)
	fi
	measure "$case" pg_dump pg_dump -Fd -Z1 -j "$jobs"
	measure "$case" "pg_pardump, SQL" pg_pardump -Z1 --no-extension -j "$jobs" "${more[@]}"
	measure "$case" pg_pardump pg_pardump -Z1 -j "$jobs" "${more[@]}"
	run_job dropdb "$case"
}

main()
{
	local case

	start_cluster "$bindir" "shared_buffers = 512MB" "autovacuum = off" "fsync = off" "max_wal_size = 4GB" \
		"max_connections = 100" "max_locks_per_transaction = 4096"
	printf '%-8s  %-22s %8s %9s %9s %9s %9s %7s %7s\n' case program seconds "client MB" "all" "server MB" "all" \
		"temp MB" files
	for case in ${cases//,/ }; do
		run_case "$case"
	done
}

for option; do
	case $option in
		--cases=*) cases=${option#*=} ;;
		*) take_place "$option" ;;
	esac
done
begin
main
