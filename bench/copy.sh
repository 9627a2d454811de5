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
#   --ways=LIST         of psql,disk,pgcopydb,text,auto (default: all)
#   --output=DIRECTORY  where archives are written (default /dev/shm)
#   --results=DIRECTORY where the CSV is written (default: this one)
#   --debian=SUITE      run on that Debian release's PostgreSQL and pgcopydb, by
#                       scripts/chroot.sh; needs root
#
# PG_MAJOR is the PostgreSQL major to use, if not the newest installed.

set -euo pipefail
. "$(dirname "$0")/common.sh"

indexes=none,some
ways=psql,disk,pgcopydb,text,auto

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
	local sql=SELECT

	log "$1, indexes: $2: making data"
	[ "$2" = none ] || sql=$(indexes_of_set "$1")
	fill_set "$1" "$sql"
	data_bytes=$(psql -XAtc "SELECT sum(pg_table_size(oid)) FROM pg_class
		WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace" "$1")
}

# The chunks that pg_pardump chooses, 8 MB at least; and no ANALYZE, as with
# the other ways, by versions that have an option for that.
pgcopydb_options()
{
	local chunk=$((data_bytes / jobs / 16))

	echo "--split-tables-larger-than $((chunk > 8388608 ? chunk / 1048576 : 8))MB" \
		"$(pgcopydb clone --help 2>&1 | grep -o -- '--skip-vacuum')"
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
			--table-jobs $jobs --index-jobs $jobs $(pgcopydb_options) >'$WORK/pgcopydb.log' 2>&1" ;;
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
	if [ "$way:$round" = pgcopydb:1 ]; then
		log "$set, indexes: $kind: pgcopydb:" \
			"$(grep -m 1 -oE '[0-9]+ COPY processes .*|Skipping same-table.*' "$WORK/pgcopydb.log" || echo "not split")"
	fi
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

# A cluster, whose postmaster's process ID comes to those in $postmasters.
start_side()
{
	CLUSTER=$1
	CLUSTER_PORT=$2
	# Durability costs the same whichever way rows come: it is left out.
	start_cluster "$bindir" "shared_buffers = 512MB" "autovacuum = off" "fsync = off" \
		"max_wal_size = 8GB" "max_locks_per_transaction = 256" "maintenance_work_mem = 256MB"
	postmasters=${postmasters:+$postmasters,}$(postmaster_pid)
}

main()
{
	local set kind

	target_port=54322 source_port=54321
	start_side target "$target_port"
	start_side source "$source_port"	# last, for clients to connect to
	echo major,set,indexes,data_bytes,way,round,wall,client_cpu,target_cpu,source_cpu | tee "$WORK/runs.csv" >&8
	for set in ${sets//,/ }; do
		for kind in ${indexes//,/ }; do
			if [ "$set:$kind" != small:some ]; then
				make_set "$set" "$kind"
				measure_set "$set" "$kind"
				run_job dropdb "$set"
			fi
		done
	done
	print_heading
	"$TREE/bench/copy_report.pl" "$WORK/runs.csv"
}

for option; do
	case $option in
		--indexes=*) indexes=${option#*=} ;;
		--ways=*) ways=${option#*=} ;;
		*) take_option "$option" ;;
	esac
done
if opens_results; then
	exec 8>"$results/pg_pardump_copy.csv"
fi
if [ -z "$suite${PG_PARDUMP_WORK:-}" ] && [[ ,$ways, == *,pgcopydb,* ]]; then
	"$TREE/scripts/install_dependencies.sh" --pgcopydb
fi
begin --results=inherited
main
