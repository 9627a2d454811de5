#!/bin/bash
#
# pipe.sh: compare restores through commands (pg_parrestore --pipe) with restores
# from local files.
#
# usage: bench/pipe.sh [OPTION]...
#
# Builds, starts a cluster of its own, fills one data set after the other, dumps it
# once, and restores the archive again and again, the ways taking turns.  A command
# with latency waits before its first byte, like that of a distant store.  Also runs
# the commands without a restore, as many at the same time as there are jobs.
# Prints tables of medians, and writes every run to pg_pardump_pipe.csv.  Judges
# nothing; see bench/README.md for what is measured.  Called by root, all runs as
# the user postgres.
#
#   --size=SIZE         text of each data set, as COPY writes it (default 1GB)
#   --quick             the same as --size=100MB --rounds=3
#   --rounds=N          runs of each way (default 5)
#   --jobs=N            workers of each restore (default 8)
#   --sets=LIST         of large (files of 16 MB of text), medium (4 MB), small
#                       (5,000 tables), objects (5,000 large objects of 10 kB; of the
#                       last two, --size does not change the size); default: all
#   --ways=LIST         of local (files), cat, and 50ms or another number (cat with
#                       this latency), each except local also with +0
#                       (--pipe-prefetch=0) or another number; default:
#                       local,cat,50ms,200ms,50ms+128,200ms+128
#   --output=DIRECTORY  where archives are written (default /dev/shm)
#   --results=DIRECTORY where the CSV is written (default: this one)
#   --debian=SUITE      run on that Debian release's PostgreSQL, by
#                       scripts/chroot.sh; needs root
#
# PG_MAJOR is the PostgreSQL major to use, if not the newest installed.

set -euo pipefail
. "$(dirname "$0")/common.sh"

jobs=8
sets=large,medium,small,objects
ways=local,cat,50ms,200ms,50ms+128,200ms+128
indexes=none,own
target_port=54321

# Overrides that of common.sh, which does not know these sets.
kinds_of_set()
{
	if [ "$1" = small ]; then
		echo own
	else
		echo none
	fi
}

fill_set()
{
	log "$1: making data"
	createdb "$1"
	case $1 in
		large | medium) run_job psql -Xq --set=bytes="$(numfmt --from=si "${size%B}")" \
			--file="$TREE/bench/data_pgbench.sql" "$1" >"$WORK/data.log" ;;
		small) run_job psql -Xq --file="$TREE/bench/data_small.sql" "$1" >"$WORK/data.log" ;;
		objects) run_job psql -Xqc "SELECT count(lo_from_bytea(0, decode(repeat(md5(n::text), 625), 'hex')))
			FROM generate_series(1, 5000) n" "$1" >"$WORK/data.log" ;;
	esac
	run_job psql -Xqc "VACUUM (FREEZE, ANALYZE)" "$1"
	run_job psql -Xqc CHECKPOINT
}

# Dump the data set $1.
prepare_kind()
{
	local -a options=()

	case $1 in
		large) options=(--chunk-size=16MB) ;;
		medium) options=(--chunk-size=4MB) ;;
	esac
	rm -rf "$OUTPUT/archive"
	run_job pg_pardump -j "$jobs" "${options[@]}" -f "$OUTPUT/archive" "$1"
	find "$OUTPUT/archive" -name '[0-9b]*.dat*' >"$WORK/files"
	n_files=$(wc -l <"$WORK/files")
	stored=$(xargs stat -c %s <"$WORK/files" | awk '{ n += $1 } END { print n }')
}

# The command of way $1 for --pipe.
command_of_way()
{
	case $1 in
		cat*) echo "exec cat $OUTPUT/archive/%f" ;;
		*ms*) echo "sleep $(awk -v ms="${1%%ms*}" 'BEGIN { print ms / 1000 }'); exec cat $OUTPUT/archive/%f" ;;
	esac
}

# Run a command for each file, as many at the same time as there are jobs, with their
# output passed through a pipe.  Prints the seconds.
measure_commands()
{
	local start end

	start=$(date +%s%N)
	run_job xargs -a "$WORK/files" -P "$jobs" -n 1 sh -c 'exec cat "$1"' sh | cat >/dev/null
	end=$(date +%s%N)
	awk -v ns=$((end - start)) 'BEGIN { printf "%.3f\n", ns / 1e9 }'
}

measure_way()
{
	local set=$1 kind=$2 way=$3 round=$4
	local restore="pg_parrestore --no-analyze -j $jobs --exit-on-error -d restored"

	if [ "$way" = local ]; then
		restore+=" '$OUTPUT/archive'"
		echo "$set,$n_files,$stored,$(measure_commands)" >>"$WORK/commands.csv"
	else
		restore+=" --pipe='$(command_of_way "$way")'"
	fi
	if [[ $way == *+* ]]; then
		restore+=" --pipe-prefetch=${way#*+}"
	fi
	measure_filling restored "$restore" "$set" "$kind" "$way" "$round"
}

check_ways()
{
	local way

	for way in ${ways//,/ }; do
		[[ $way =~ ^(local|(cat|[0-9]+ms)(\+[0-9]+)?)$ ]] || die "there is no way \"$way\"; see --help"
	done
	has "$ways" local || die "all ways are compared with local: it must be one of --ways"
}

main()
{
	start_side cluster "$target_port"
	start_runs ""
	echo "set,files,stored,commands" >"$WORK/commands.csv"
	measure_sets
	print_heading
	"$TREE/bench/pipe_report.pl" "$WORK/runs.csv" "$WORK/commands.csv" "$jobs"
}

for option; do
	take_ways_option "$option"
done
check_ways
if opens_results; then
	exec 8>"$results/pg_pardump_pipe.csv"
fi
begin --results=inherited
main
