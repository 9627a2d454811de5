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
#   --indexes=LIST      of none,some (default: both)
#   --ways=LIST         of psql,disk,pgcopydb,text,auto (default: all; pgcopydb
#                       if it is installed)
#   --output=DIRECTORY  where archives are written (default /dev/shm)
#   --results=DIRECTORY where the CSV is written (default: this one)
#
# PG_MAJOR is the PostgreSQL major to use, if not the newest installed.

set -euo pipefail
. "$(dirname "$0")/../scripts/common.sh"
. "$TREE/scripts/cluster.sh"
export -n PROGRAM	# "prepare" below hands it on, and it would mean something to make

size=1GB
rounds=5
jobs=2
sets=pgbench,logs,mixed,docs,small
indexes=none,some
ways=
output=/dev/shm
results=.

# Open the file of results while this process is still who it was called by.
open_results()
{
	if [ -z "${PG_PARDUMP_WORK:-}" ]; then
		exec 8>"$results/pg_pardump_copy.csv"
	fi
}

# The indexes of a data set, as an application would have them.
indexes_of_set()
{
	case $1 in
		pgbench) echo "ALTER TABLE pgbench_accounts ADD PRIMARY KEY (aid); CREATE INDEX ON pgbench_accounts (bid)" ;;
		logs) echo "ALTER TABLE logs ADD PRIMARY KEY (id); CREATE INDEX ON logs (logged_at); CREATE INDEX ON logs (session)" ;;
		mixed) echo "ALTER TABLE mixed ADD PRIMARY KEY (id); CREATE INDEX ON mixed (created, price); CREATE INDEX ON mixed (updated)" ;;
		docs) echo "ALTER TABLE docs ADD PRIMARY KEY (id); CREATE INDEX ON docs (title)" ;;
		small) echo "SELECT" ;;
	esac
}

# Fill the source with the data set $1, with indexes if $2 says so.
make_set()
{
	log "$1, indexes: $2: making data"
	createdb "$1"
	run_job psql -Xq --set=bytes="$bytes" --file="$TREE/bench/data_$1.sql" "$1" >"$WORK/data.log"
	if [ "$2" = some ]; then
		run_job psql -Xqc "$(indexes_of_set "$1")" "$1" >"$WORK/data.log"
	fi
	run_job psql -Xqc "CREATE EXTENSION pg_pardump" "$1"
	run_job psql -Xqc "VACUUM (FREEZE, ANALYZE)" "$1"
	run_job psql -Xqc CHECKPOINT
	data_bytes=$(psql -XAtc "SELECT sum(pg_table_size(oid)) FROM pg_class
		WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace" "$1")
}

# What way $1 does with data set $2, as a shell command.
command_of_way()
{
	local source="port=$source_port dbname=$2" target="port=$target_port dbname=$2"
	local compress=1

	if [ "$major" -ge 16 ]; then
		compress=zstd:1
	fi
	case $1 in
		psql) echo "pg_dump -d '$source' | psql -XqAt -v ON_ERROR_STOP=1 -o /dev/null -d '$target'" ;;
		disk) echo "pg_dump -Fd -Z $compress -j $jobs -f '$OUTPUT/archive' -d '$source' &&
			pg_restore -j $jobs -d '$target' '$OUTPUT/archive'" ;;
		pgcopydb) echo "pgcopydb clone --source '$source' --target '$target' --dir '$OUTPUT/pgcopydb' \
			--table-jobs $jobs --index-jobs $jobs --split-tables-larger-than ${split}MB >'$WORK/pgcopydb.log' 2>&1" ;;
		text) echo "pg_pardump -j $jobs --no-analyze --copy-format=text -d '$source' --target='$target' >'$WORK/copy.log'" ;;
		auto) echo "pg_pardump -j $jobs --no-analyze -d '$source' --target='$target' >'$WORK/copy.log'" ;;
	esac
}

measure_way()
{
	local set=$1 kind=$2 way=$3 round=$4

	PGPORT=$target_port createdb -T template0 "$set"
	run_job "$TREE/bench/measure.pl" "$postmasters" bash -o pipefail -c "$(command_of_way "$way" "$set")" \
		>"$WORK/measured" || die "this failed: $(command_of_way "$way" "$set")"
	echo "$major,$set,$kind,$data_bytes,$way,$round,$(cat "$WORK/measured")" | tee -a "$WORK/runs.csv" >&8
	PGPORT=$target_port dropdb "$set"
	PGPORT=$target_port run_job psql -Xqc CHECKPOINT
	rm -rf "$OUTPUT/archive" "$OUTPUT/pgcopydb"
}

measure_set()
{
	local round way

	for ((round = 1; round <= rounds; round++)); do
		log "$1, indexes: $2: round $round of $rounds"
		for way in ${ways//,/ }; do
			measure_way "$1" "$2" "$way" "$round"
		done
	done
}

remove_output()
{
	rm -rf "$OUTPUT"
}

# A cluster, and its postmaster's process ID in $postmaster.
start_side()
{
	CLUSTER=$1
	CLUSTER_PORT=$2
	# Durability costs the same whichever way rows come: it is left out.
	start_cluster "$bindir" "shared_buffers = 512MB" "autovacuum = off" "fsync = off" \
		"max_wal_size = 8GB" "max_locks_per_transaction = 256" "maintenance_work_mem = 256MB"
	postmaster=$(head -n 1 "$WORK/$CLUSTER/postmaster.pid")
}

main()
{
	local set kind

	run_job "$TREE/scripts/temp_install.sh" "$WORK/build" >"$WORK/bindir"
	bindir=$(cat "$WORK/bindir")
	PATH=$bindir:$PATH
	target_port=54322 source_port=54321
	start_side target "$target_port"
	postmasters=$postmaster
	start_side source "$source_port"
	postmasters=$postmaster,$postmasters
	OUTPUT=$(mktemp -d -p "$output" pg_pardump_copy.XXXXXX)
	# shellcheck disable=SC2034 # read by clean_up
	ON_EXIT=remove_output
	echo major,set,indexes,data_bytes,way,round,wall,client_cpu,source_cpu,target_cpu | tee "$WORK/runs.csv" >&8
	for set in ${sets//,/ }; do
		for kind in ${indexes//,/ }; do
			if [ "$set:$kind" != small:some ]; then
				make_set "$set" "$kind"
				measure_set "$set" "$kind"
				run_job dropdb "$set"
			fi
		done
	done
	printf '\nPostgreSQL %s, %s jobs on %s processors, medians of %s runs\n' \
		"$(pg_config --version | sed 's/^PostgreSQL //')" "$jobs" "$(nproc)" "$rounds"
	"$TREE/bench/copy_report.pl" "$WORK/runs.csv"
}

for option; do
	case $option in
		--size=*) size=${option#*=} ;;
		--quick) size=100MB rounds=3 ;;
		--rounds=*) rounds=${option#*=} ;;
		--jobs=*) jobs=${option#*=} ;;
		--sets=*) sets=${option#*=} ;;
		--indexes=*) indexes=${option#*=} ;;
		--ways=*) ways=${option#*=} ;;
		--output=*) output=${option#*=} ;;
		--results=*) results=${option#*=} ;;
		--help | -h) print_help; exit 0 ;;
		*) die "unknown option \"$option\"; see --help" ;;
	esac
done
bytes=$(numfmt --from=si "${size%B}")
# pgcopydb gets the chunks that pg_pardump chooses: 32 MB at least.
split=$((bytes / jobs / 16 > 33554432 ? bytes / jobs / 16 / 1048576 : 32))
open_results
PROGRAM=../bench/copy.sh prepare "$@"
major=$(pg_major)
export PG_MAJOR=$major
if [ -z "$ways" ]; then
	ways=psql,disk,$(command -v pgcopydb >/dev/null && echo pgcopydb, || true)text,auto
fi
main
