#!/bin/bash
#
# index.sh: compare index builds by the server with those by the extension.
#
# usage: bench/index.sh [OPTION]...
#
# Builds, starts a cluster of its own, fills a table, and creates each index again
# and again, the ways taking turns: by the server alone, by the server with a
# parallel worker, by the extension alone, and by the extension with a parallel
# worker.  Each command has a session of its own, so those of the extension include
# the comparison with the server's pages.  Prints a table of medians: wall seconds,
# and CPU seconds of sessions and workers.
# Called by root, all runs as the user postgres.
#
#   --rows=N            rows of the table (default 10000000)
#   --rounds=N          builds of each index in each way (default 5)
#   --sets=LIST         of int4 (unique, rows in its order), int8 and uuid (random),
#                       and pair (two columns); default: all
#   --memory=SIZE       maintenance_work_mem (default 1GB)
#   --debian=SUITE      run on that Debian release's PostgreSQL, by
#                       scripts/chroot.sh; needs root
#
# PG_MAJOR is the PostgreSQL major to use, if not the newest installed.

set -euo pipefail
. "$(dirname "$0")/common.sh"

rows=10000000
memory=1GB
sets=int4,int8,uuid,pair
jobs=
ways="server worker own own_worker"

fill_table()
{
	log "filling a table of $rows rows"
	run_job psql -Xq -c "CREATE TABLE t AS SELECT i AS int4, (random() * 1e18)::int8 AS int8, md5(i::text)::uuid AS uuid,
			(random() * 1000)::int4 AS a, timestamptz '2026-01-01' + random() * interval '90 days' AS ts
			FROM generate_series(1, $rows) i" -c "VACUUM (FREEZE, ANALYZE) t" -c CHECKPOINT postgres
}

definition_of_set()
{
	case $1 in
		int4) echo "CREATE UNIQUE INDEX i ON t (int4)" ;;
		int8 | uuid) echo "CREATE INDEX i ON t ($1)" ;;
		pair) echo "CREATE INDEX i ON t (a, ts)" ;;
		*) die "unknown set \"$1\"; see --help" ;;
	esac
}

settings_of_way()
{
	local own="-c local_preload_libraries=pg_pardump -c pg_pardump.fast_index=on"

	case $1 in
		server) echo "-c max_parallel_maintenance_workers=0" ;;
		worker) echo "-c max_parallel_maintenance_workers=1" ;;
		own) echo "-c max_parallel_maintenance_workers=0 $own" ;;
		own_worker) echo "-c max_parallel_maintenance_workers=1 $own" ;;
	esac
}

measure_build()
{
	local set=$1 way=$2

	run_job psql -Xqc "DROP INDEX IF EXISTS i" -c CHECKPOINT postgres 2>"$WORK/drop.log"
	PGOPTIONS="-c maintenance_work_mem=$memory $(settings_of_way "$way")" \
		run_job "$TREE/bench/measure.pl" "$postmasters" psql -Xqc "$(definition_of_set "$set")" postgres \
		>"$WORK/measured"
	echo "$set $way $(tr ',' ' ' <"$WORK/measured")" >>"$WORK/runs"
}

main()
{
	local set way round

	start_side cluster "$target_port"
	export PGPORT=$target_port
	fill_table
	for set in ${sets//,/ }; do
		for ((round = 1; round <= rounds; round++)); do
			for way in $ways; do
				measure_build "$set" "$way"
			done
		done
	done
	print_heading
	ways=$ways perl -I"$TREE/bench" -MRuns -e '
		while (<>) { my ($s, $w, $wall, $client, $cpu) = split; push @{ $v{$s}{$w}{wall} }, $wall; push @{ $v{$s}{$w}{cpu} }, $cpu }
		printf "%-6s %-10s %8s %8s\n", qw(set way wall CPU);
		for my $s (sort keys %v) { printf "%-6s %-10s %8.2f %8.2f\n", $s, $_, map { Runs::median(@$_) } @{ $v{$s}{$_} }{qw(wall cpu)} for split " ", $ENV{ways} }
	' "$WORK/runs"
}

target_port=54321
for option; do
	case $option in
		--rows=*) rows=${option#*=} ;;
		--memory=*) memory=${option#*=} ;;
		--rounds=*) rounds=${option#*=} ;;
		--sets=*) sets=${option#*=} ;;
		*) take_place "$option" ;;
	esac
done
for set in ${sets//,/ }; do
	definition_of_set "$set" >/dev/null
done
begin
main
