#!/bin/bash
#
# demo.sh: show pg_pardump at work on a throwaway cluster, and check it.
#
# usage: scripts/demo.sh [--scale=N] [--jobs=N]
#
# Installs what is missing, builds, starts a cluster of its own and fills it:
# pgbench tables, the largest not partitioned, a partitioned and a bloated
# table, one with much TOAST, large objects.  Dumps it with pg_pardump, restores
# it with stock pg_restore and with pg_parrestore, compares every table both
# times, and does the same with stock pg_dump for the times.  Exit code 0 means
# that all is equal.  Root or sudo is needed only to install; called by root, all
# runs as the user postgres.
#
#   --scale=N   pgbench's scale, 15 MB each (default 40, 5 GB of free disk)
#   --jobs=N    processes of the dumps and restores (default: one a processor,
#               at least 2)
#
# PG_MAJOR is the PostgreSQL major to use, if not the newest installed.

set -euo pipefail
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/cluster.sh"

scale=40
jobs=$(nproc)
jobs=$((jobs < 2 ? 2 : jobs))

now()
{
	date +%s.%N
}

seconds_since()
{
	awk -v from="$1" -v to="$(now)" 'BEGIN { printf "%.1f", to - from }'
}

# Run some of the steps of "pgbench --initialize".
pgbench_init()
{
	if ! run_job pgbench --initialize --quiet --init-steps="$1" --scale="$scale" source \
		>"$WORK/pgbench.log" 2>&1; then
		cat "$WORK/pgbench.log" >&2
		die "pgbench failed"
	fi
}

run_sql()
{
	run_job psql -Xq --set=scale="$scale" --file="$TREE/scripts/$1" source >/dev/null
}

make_data()
{
	log "making data"
	pgbench_init dt
	run_sql demo_pgbench.sql
	pgbench_init vp
	run_sql demo_data.sql
	run_job psql -Xq --command='CREATE EXTENSION pg_pardump' source
}

# Have all earlier writes done, so that what is timed next pays for its own.
settle()
{
	run_job psql -Xqc CHECKPOINT
	run_job sync --file-system "$WORK"
}

# Restore the archive $2 with the program $1 and its options ($3...) into a new
# database "restored", which takes $seconds.
restore()
{
	local program=$1 archive=$2
	local start

	shift 2
	dropdb --if-exists restored 2>"$WORK/dropdb.log"
	createdb restored
	settle
	start=$(now)
	run_job "$program" -j "$jobs" -d restored "$@" "$archive"
	seconds=$(seconds_since "$start")
}

# Dump "source" with a command and restore the archive by both programs, telling
# the times in a line of the summary that begins with $1.  What is restored is
# given to the function $2 each time, with a name of the way.
# Arguments: label, function, dump command.
dump_and_restore()
{
	local label=$1 check=$2
	local archive=$WORK/archive
	local start dump size seconds by_stock

	shift 2
	log "$label: dump"
	settle
	start=$(now)
	run_job "$@" -j "$jobs" -Fd -f "$archive" source
	dump=$(seconds_since "$start")
	size=$(du -sb "$archive" | cut -f 1)

	log "$label: restore"
	restore pg_restore "$archive"
	by_stock=$seconds
	"$check" "by pg_restore"
	# pg_restore does not run ANALYZE.
	restore pg_parrestore "$archive" --no-analyze
	"$check" "by pg_parrestore"
	printf '%-26s %8s s %9s %10s s %13s s\n' "$label" "$dump" \
		"$(numfmt --to=iec-i --suffix=B "$size")" "$by_stock" "$seconds" >>"$WORK/summary"
	rm -rf "$archive"
}

# Newer minors of pg_dump write a random key.
schema()
{
	run_job pg_dump --schema-only --file="$WORK/schema.sql" "$1"
	sed -E '/^\\(un)?restrict /d' "$WORK/schema.sql"
}

# Write down what the database $1 holds, to compare it later.
take_fingerprint()
{
	run_job psql -XAt --file="$TREE/scripts/fingerprint.sql" --output="$WORK/$1.data" "$1" >/dev/null
	schema "$1" >"$WORK/$1.schema"
}

# Compare two databases; print what differs, or that nothing does.
compare()
{
	local tables

	if ! diff "$WORK/$1.data" "$WORK/$2.data" >"$WORK/data.diff"; then
		echo "these differ (name, rows, checksum; < before, > restored):"
		grep '^[<>]' "$WORK/data.diff"
		return 1
	fi
	if ! diff -u "$WORK/$1.schema" "$WORK/$2.schema"; then
		echo "the definitions differ"
		return 1
	fi
	tables=$(grep -c '^table ' "$WORK/$1.data")
	echo "all $tables tables equal, $(awk -F'|' '/^table /{ n += $2 } END { print n }' "$WORK/$1.data") rows;" \
		"$(awk -F'|' '/^large/{ print $2 }' "$WORK/$1.data") large objects, all sequences and definitions equal"
}

# Compare what was restored with the source.
check_restored()
{
	log "comparing"
	take_fingerprint restored
	compare source restored >"$WORK/compared" || result=1
	sed "1s/^/restored $1: /" "$WORK/compared" >>"$WORK/result"
}

# The codec and level that pg_pardump uses by default, for pg_dump to use too.
same_codec()
{
	if [ "$major" -ge 16 ]; then
		echo zstd:1
	else
		echo 1	# of gzip, the only one that pg_dump has before 16
	fi
}

# Say what times on this machine, of so much data ($1), can show.
print_limits()
{
	local processors

	processors=$(nproc)
	echo "Measured once: $jobs jobs on $processors processor$([ "$processors" = 1 ] || echo s), which the server shares, and $1 of data."
	if [ "$scale" -lt 40 ]; then
		echo "So little data shows that all is equal, not how fast it is: starting up is much of each time."
	fi
	echo "Larger tables and more processors show more: pg_dump -j gives a table to one job."
}

main()
{
	local bindir codec result size

	run_job "$TREE/scripts/temp_install.sh" "$WORK/build" >"$WORK/bindir"
	bindir=$(cat "$WORK/bindir")
	PATH=$bindir:$PATH
	start_cluster "$bindir" "shared_buffers = 256MB" "maintenance_work_mem = 128MB" \
		"max_wal_size = 2GB" "autovacuum = off"
	createdb source
	make_data
	size=$(psql -XAtc 'SELECT pg_size_pretty(pg_database_size(current_database()))' source)
	log "$size of data, PostgreSQL $(pg_config --version | sed 's/^PostgreSQL //'), $jobs jobs"

	# Taken before the dump, it also reads everything once, so that the first
	# dump finds caches and hint bits as the later ones do.
	take_fingerprint source
	codec=$(same_codec)
	result=0
	# With the extension, as pg_dump has it, so that all three restore the same.
	dump_and_restore "pg_pardump" check_restored pg_pardump --with-pardump-extension
	dump_and_restore "pg_dump, same compression" true pg_dump --compress="$codec"
	dump_and_restore "pg_dump, its default" true pg_dump

	printf '\n%-26s %10s %9s %12s %15s\n' "" dump archive pg_restore pg_parrestore
	cat "$WORK/summary"
	printf '\n'
	print_limits "$size"
	printf '\n'
	cat "$WORK/result"
	return "$result"
}

for option; do
	case $option in
		--scale=*) scale=${option#*=} ;;
		--jobs=*) jobs=${option#*=} ;;
		--help | -h) print_help; exit 0 ;;
		*) die "unknown option \"$option\"; see --help" ;;
	esac
done
[[ $scale =~ ^[1-9][0-9]*$ && $jobs =~ ^[1-9][0-9]*$ ]] ||
	die "the scale and the number of jobs are whole numbers above 0"
# shellcheck disable=SC2034 # read by prepare
DEPENDENCIES=(--build)
prepare "$@"
major=$(pg_major)
export PG_MAJOR=$major
main
