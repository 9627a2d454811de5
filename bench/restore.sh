#!/bin/bash
#
# restore.sh: compare restores of archives of pg_dump's and of pg_pardump's, by
# stock pg_restore, without and with COPY FROM and index builds by the extension's
# library, and by pg_parrestore.
#
# usage: bench/restore.sh [OPTION]...
#
# Builds, starts a cluster of its own, fills one data set after the other,
# without and with indexes, dumps it once by each program, and restores the
# archives again and again, the ways taking turns.  Prints tables of medians, and
# writes every run to pg_pardump_restore.csv.  Judges nothing; see
# bench/README.md for what is measured.  Called by root, all runs as the user
# postgres.
#
#   --size=SIZE         text of each data set, as COPY writes it (default 1GB)
#   --quick             the same as --size=100MB --rounds=3
#   --rounds=N          runs of each way (default 5)
#   --jobs=N            processes of each dump and restore (default 2)
#   --sets=LIST         of pgbench,logs,mixed,docs,small,demo (default: all)
#   --indexes=LIST      of none, key (the primary key), all (two more); default:
#                       all of them; small and demo have their own
#   --ways=LIST         of stock (pg_dump's archive) and own (pg_pardump's), each
#                       with +copy (COPY FROM by the extension's library) or
#                       +fast (indexes by the library too);
#                       parrestore (pg_pardump's by pg_parrestore) and
#                       stock-by-parrestore (pg_dump's); all of them with +lz4
#                       (TOAST compressed by lz4, of the set docs only); default:
#                       stock,own,own+fast,parrestore,stock-by-parrestore, and
#                       these with +lz4
#   --output=DIRECTORY  where archives are written (default /dev/shm)
#   --results=DIRECTORY where the CSV is written (default: this one)
#   --debian=SUITE      run on that Debian release's PostgreSQL, by
#                       scripts/chroot.sh; needs root
#
# PG_MAJOR is the PostgreSQL major to use, if not the newest installed.

set -euo pipefail
. "$(dirname "$0")/common.sh"

sets=$sets,demo
ways=stock,own,own+fast,parrestore,stock-by-parrestore
ways=$ways,${ways//,/+lz4,}+lz4
target_port=54321

# Dump the data set $1 by both programs.
prepare_kind()
{
	rm -rf "$OUTPUT/stock" "$OUTPUT/own"
	run_job pg_dump -Fd -Z "$(default_codec)" -j "$jobs" -f "$OUTPUT/stock" "$1"
	run_job pg_pardump -j "$jobs" -f "$OUTPUT/own" "$1"
	log "$1, indexes: $2: $(find "$OUTPUT/own" -name '[0-9]*.dat*' | wc -l) files of rows of pg_pardump's," \
		"$(du -sb "$OUTPUT/own" | cut -f 1) bytes; $(du -sb "$OUTPUT/stock" | cut -f 1) of pg_dump's"
}

# The settings of way $1 in round $2, for PGOPTIONS.  In the first round the
# server's log tells who does each COPY.
settings_of_way()
{
	if [[ $1+ == *+copy+* || $1+ == *+fast+* ]]; then
		echo "-c local_preload_libraries=pg_pardump -c pg_pardump.fast_copy=on"
	fi
	if [[ $1+ == *+fast+* ]]; then
		echo "-c pg_pardump.fast_index=on"
	fi
	if [[ $1+ == *+copy+* || $1+ == *+fast+* || $1 == *parrestore* ]] && [ "$2" -eq 1 ]; then
		echo "-c log_min_messages=debug1"
	fi
	if [[ $1+ == *+lz4+* ]]; then
		echo "-c default_toast_compression=lz4"
	fi
}

# The program of way $1 with its options, and the archive in front of which they
# stand.  pg_restore does not run ANALYZE, so neither is to.
command_of_way()
{
	case $1 in
		parrestore*) echo "pg_parrestore --no-analyze own" ;;
		stock-by-parrestore*) echo "pg_parrestore --no-analyze stock" ;;
		*) echo "pg_restore ${1%%+*}" ;;
	esac
}

# How many COPY the server's log has of which $1 is said.
count_copies()
{
	grep -c "COPY to table .* is $1" "$WORK/cluster.log" || true
}

measure_way()
{
	local set=$1 kind=$2 way=$3 round=$4
	local settings command by_library by_server

	if [[ $way+ == *+lz4+* && $set != docs ]]; then
		return
	fi
	settings=$(settings_of_way "$way" "$round" | paste -sd ' ')
	by_library=$(count_copies "done by pg_pardump")
	by_server=$(count_copies "left to the server")
	command=$(command_of_way "$way")
	measure_filling restored \
		"PGOPTIONS='$settings' ${command% *} -j $jobs --exit-on-error -d restored '$OUTPUT/${command##* }'" \
		"$set" "$kind" "$way" "$round"
	if [[ $settings == *log_min_messages* ]]; then
		log "$set, indexes: $kind: $way: $(($(count_copies "done by pg_pardump") - by_library)) COPY by the library," \
			"$(($(count_copies "left to the server") - by_server)) left to the server"
	fi
}

check_ways()
{
	local way

	for way in ${ways//,/ }; do
		[[ $way =~ ^((stock|own)(\+copy|\+fast)?|parrestore|stock-by-parrestore)(\+lz4)?$ ]] || die "there is no way \"$way\"; see --help"
	done
}

main()
{
	start_side cluster "$target_port"
	start_runs ""
	measure_sets
	print_heading
	"$TREE/bench/ways_report.pl" "$WORK/runs.csv" stock
}

for option; do
	take_ways_option "$option"
done
check_ways
if opens_results; then
	exec 8>"$results/pg_pardump_restore.csv"
fi
begin --results=inherited
main
