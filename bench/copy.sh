#!/bin/bash
#
# copy.sh: compare ways to bring a database from one server to another.
#
# usage: bench/copy.sh [OPTION]...
#
# Builds, starts two clusters of its own, fills one data set after the other in
# the first, without and with indexes, and copies it into the second again and
# again, the ways taking turns.  Prints tables of medians, and writes every run
# to pg_pardump_copy.csv.  Judges nothing; see bench/README.md for what is
# measured.  Called by root, all runs as the user postgres.
#
#   --size=SIZE         text of each data set, as COPY writes it (default 1GB)
#   --quick             the same as --size=100MB --rounds=3
#   --rounds=N          runs of each way (default 5)
#   --jobs=N            processes of each way that can have several (default 2)
#   --sets=LIST         of pgbench,logs,mixed,docs,small (default: all)
#   --indexes=LIST      of none, key (the primary key), all (two more); default:
#                       all of them; small has its own
#   --ways=LIST         of psql,disk,pgcopydb,text,binary,raw,auto (default: all)
#   --output=DIRECTORY  where archives are written (default /dev/shm)
#   --results=DIRECTORY where the CSV is written (default: this one)
#   --debian=SUITE      run on that Debian release's PostgreSQL and pgcopydb, by
#                       scripts/chroot.sh; needs root
#
# PG_MAJOR is the PostgreSQL major to use, if not the newest installed.

set -euo pipefail
. "$(dirname "$0")/common.sh"

ways=psql,disk,pgcopydb,text,binary,raw,auto
target_port=54322
source_port=54321

# The chunks that pg_pardump chooses, 8 MB at least; and no ANALYZE, as with
# the other ways, by versions that have an option for that.
pgcopydb_options()
{
	local chunk=$((data_bytes / jobs / 16))

	echo "--split-tables-larger-than $((chunk > 8388608 ? chunk / 1048576 : 8))MB" \
		"$(pgcopydb clone --help 2>&1 | grep -o -- '--skip-vacuum')"
}

# The copy of the data set $1 by pg_pardump with the options that follow.
own_copy()
{
	local set=$1

	shift
	echo "pg_pardump -j $jobs --no-analyze $* -d 'port=$source_port dbname=$set' \
		--target='port=$target_port dbname=$set' >'$WORK/copy.log'"
}

# What way $1 does with the data set $2, as a shell command.
command_of_way()
{
	local source="port=$source_port dbname=$2" target="port=$target_port dbname=$2"

	case $1 in
		psql) echo "pg_dump -d '$source' | psql -XqAt -v ON_ERROR_STOP=1 -o /dev/null -d '$target'" ;;
		disk) echo "pg_dump -Fd -Z $(default_codec) -j $jobs -f '$OUTPUT/archive' -d '$source' &&
			pg_restore -j $jobs -d '$target' '$OUTPUT/archive'" ;;
		pgcopydb) echo "pgcopydb clone --source '$source' --target '$target' --dir '$OUTPUT/pgcopydb' \
			--table-jobs $jobs --index-jobs $jobs $(pgcopydb_options) >'$WORK/pgcopydb.log' 2>&1" ;;
		text | binary | raw) own_copy "$2" "--copy-format=$1" ;;
		auto) own_copy "$2" ;;
		*) die "there is no way \"$1\"; see --help" ;;
	esac
}

measure_way()
{
	local set=$1 kind=$2 way=$3 round=$4
	local command

	command=$(command_of_way "$way" "$set")
	measure_filling "$set" "$command" "$set" "$kind" "$way" "$round"
	if [ "$way:$round" = pgcopydb:1 ]; then
		log "$set, indexes: $kind: pgcopydb:" \
			"$(grep -m 1 -oE '[0-9]+ COPY processes .*|Skipping same-table.*' "$WORK/pgcopydb.log" || echo "not split")"
	fi
	rm -rf "$OUTPUT/archive" "$OUTPUT/pgcopydb"
}

main()
{
	start_side target "$target_port"
	start_side source "$source_port"	# last, for clients to connect to
	start_runs source_session_cpu,source_other_cpu
	measure_sets
	print_heading
	"$TREE/bench/ways_report.pl" "$WORK/runs.csv" psql,disk,pgcopydb
}

for option; do
	take_ways_option "$option"
done
if opens_results; then
	exec 8>"$results/pg_pardump_copy.csv"
fi
if [ -z "$suite${PG_PARDUMP_WORK:-}" ] && [[ ,$ways, == *,pgcopydb,* ]]; then
	"$TREE/scripts/install_dependencies.sh" --pgcopydb
fi
begin --results=inherited
main
