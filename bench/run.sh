#!/bin/bash
#
# run.sh: compare pg_pardump with stock pg_dump, side by side in one run.
#
# usage: bench/run.sh [OPTION]...
#
# Builds, starts a cluster of its own, fills one data set after the other and
# dumps it again and again, the programs taking turns.  Prints tables of
# medians, and writes every run to pg_pardump_bench.csv and a chart to
# pg_pardump_bench.svg.  Judges nothing; see bench/README.md for what is
# measured.  Called by root, all runs as the user postgres.
#
#   --size=SIZE         text of each data set, as COPY writes it (default 1GB)
#   --quick             the same as --size=100MB --rounds=3
#   --rounds=N          runs of each command (default 5)
#   --jobs=N            processes of each dump (default 2)
#   --sets=LIST         of pgbench,logs,mixed,docs,small (default: all)
#   --codecs=LIST       of none,lz4,zstd:1,gzip:6,default (default: all, without
#                       lz4 and zstd:1 before PostgreSQL 16)
#   --programs=LIST     of stock,sql,client,server (default: all)
#   --output=DIRECTORY  where archives are written (default /dev/shm)
#   --results=DIRECTORY where CSV and chart are written (default: this one)
#   --debian=SUITE      run on that Debian release's PostgreSQL, by
#                       scripts/chroot.sh; needs root
#
# PG_MAJOR is the PostgreSQL major to use, if not the newest installed.

set -euo pipefail
. "$(dirname "$0")/../scripts/common.sh"
. "$TREE/scripts/cluster.sh"
export -n PROGRAM	# "prepare" below hands it on, and it would mean something to make

ARGUMENTS=("$@")
size=1GB
rounds=5
jobs=2
sets=pgbench,logs,mixed,docs,small
codecs=
programs=stock,sql,client,server
output=/dev/shm
results=.
suite=

# Open the files of results while this process is still who it was called by:
# descriptor 8 for the runs, 9 for the chart.
open_results()
{
	if [ "$results" = inherited ] || [ -n "${PG_PARDUMP_WORK:-}" ]; then
		return	# by the process that started this one
	fi
	exec 8>"$results/pg_pardump_bench.csv" 9>"$results/pg_pardump_bench.svg"
}

run_on_other_release()
{
	exec "$TREE/scripts/chroot.sh" "$suite" bench/run.sh "${ARGUMENTS[@]}" --debian= --results=inherited
}

# The codecs to compare on this major.
default_codecs()
{
	if [ "$major" -ge 16 ]; then
		echo none,lz4,zstd:1,gzip:6,default
	else
		echo none,gzip:6,default
	fi
}

# The codec that pg_pardump uses when none is asked for.
codec_of_default()
{
	if [ "$major" -ge 16 ]; then
		echo zstd:1
	else
		echo gzip:1
	fi
}

# Is $2 in the list $1?
has()
{
	[[ ,$1, == *,$2,* ]]
}

table_of_set()
{
	case $1 in
		pgbench) echo pgbench_accounts ;;
		*) echo "$1" ;;
	esac
}

# Fill the database of the data set $1; leave the text of its table in
# $OUTPUT/text and its size in $text_bytes, 0 for a set of many tables.
make_set()
{
	local set=$1

	log "$set: making data"
	createdb "$set"
	run_job psql -Xq --set=bytes="$bytes" --file="$TREE/bench/data_$set.sql" "$set" >"$WORK/data.log"
	run_job psql -Xqc "CREATE EXTENSION pg_pardump" "$set"
	run_job psql -Xqc "VACUUM (FREEZE, ANALYZE)" "$set"
	run_job psql -Xqc CHECKPOINT
	text_bytes=0
	if [ "$set" != small ]; then
		run_job psql -Xqc "COPY $(table_of_set "$set") TO STDOUT" "$set" >"$OUTPUT/text"
		text_bytes=$(stat -c %s "$OUTPUT/text")
	fi
	report_reader "$set"
}

# Say whether the server's reader is used at all: a dump would fall back to
# SQL without a word.  This run also warms the caches.
report_reader()
{
	local by_extension

	run_job pg_pardump -v -j "$jobs" -Z none -f "$OUTPUT/archive" "$1" 2>"$WORK/verbose.log" ||
		die "pg_pardump failed: $(tail -n 1 "$WORK/verbose.log")"
	by_extension=$(grep -c 'by the extension' "$WORK/verbose.log") || true
	log "$1: $text_bytes bytes of text, $by_extension pieces read by the extension," \
		"$(grep -c 'by SQL' "$WORK/verbose.log" || true) by SQL"
	rm -rf "$OUTPUT/archive"
}

drop_set()
{
	run_job dropdb "$1"
	rm -f "$OUTPUT/text"
}

# Set the array $command to the dump by program $1 with codec $2; false if
# there is none.
choose_command()
{
	local program=$1 codec=$2

	case $program:$codec in
		# Without an option pg_dump uses gzip's level 6.
		stock:default) ! has "$codecs" gzip:6 || return 1; command=(pg_dump -Fd) ;;
		stock:gzip:6) command=(pg_dump -Fd) ;;
		stock:none) command=(pg_dump -Fd -Z 0) ;;
		stock:*) command=(pg_dump -Fd -Z "$codec") ;;
		sql:default) command=(pg_pardump --no-extension) ;;
		sql:*) command=(pg_pardump --no-extension -Z "$codec") ;;
		client:default) command=(pg_pardump) ;;
		client:*) command=(pg_pardump -Z "$codec") ;;
		server:default | server:none) return 1 ;;
		server:*) command=(pg_pardump -Z "server-$codec") ;;
	esac
}

# Tell the result of a run.  Arguments: set, codec, program, round, and
# wall,client,server,bytes.
record()
{
	echo "$major,$1,$text_bytes,$2,$3,$4,$5" | tee -a "$WORK/runs.csv" >&8
}

measure_dump()
{
	local set=$1 codec=$2 program=$3 round=$4
	local -a command
	local size

	choose_command "$program" "$codec" || return 0
	run_job "$TREE/bench/measure.pl" "$postmaster" "${command[@]}" -j "$jobs" -f "$OUTPUT/archive" "$set" \
		>"$WORK/measured" || die "this failed: ${command[*]} $set"
	size=$(find "$OUTPUT/archive" -type f -printf '%s\n' | awk '{ n += $1 } END { print n }')
	record "$set" "$codec" "$program" "$round" "$(cat "$WORK/measured"),$size"
	rm -rf "$OUTPUT/archive"
}

measure_floor()
{
	local set=$1 codec=$2 round=$3

	if [ "$set" = small ]; then
		return
	fi
	run_job "$WORK/floor" "$OUTPUT/text" "${codec/default/$(codec_of_default)}" "$OUTPUT/floor" \
		>"$WORK/measured"
	rm -f "$OUTPUT/floor"
	record "$set" "$codec" floor "$round" "$(cat "$WORK/measured")"
}

# Compression of 5,000 tables of a few kB says nothing: only the codecs of the
# default.
codecs_of_set()
{
	local codec

	for codec in ${codecs//,/ }; do
		case $1:$codec in
			small:none | small:lz4) ;;
			*) echo "$codec" ;;
		esac
	done
}

measure_set()
{
	local set=$1
	local round codec program

	for ((round = 1; round <= rounds; round++)); do
		log "$set: round $round of $rounds"
		for codec in $(codecs_of_set "$set"); do
			for program in ${programs//,/ }; do
				measure_dump "$set" "$codec" "$program" "$round"
			done
			measure_floor "$set" "$codec" "$round"
		done
	done
}

remove_output()
{
	rm -rf "$OUTPUT"
}

build()
{
	run_job "$TREE/scripts/temp_install.sh" "$WORK/build" >"$WORK/bindir"
	run_job gcc -O2 -Wall -I"$TREE/src/shared" "$TREE/bench/floor.c" "$TREE/src/shared/gzip_member.c" \
		-o "$WORK/floor" -lzstd -llz4 -ldeflate -lisal
}

main()
{
	local bindir set

	build
	bindir=$(cat "$WORK/bindir")
	PATH=$bindir:$PATH
	# Durability costs time when data is made, and nothing is written after.
	start_cluster "$bindir" "shared_buffers = 512MB" "autovacuum = off" "fsync = off" "wal_level = minimal" \
		"max_wal_senders = 0" "max_wal_size = 8GB" "work_mem = 64MB" "max_locks_per_transaction = 256"
	postmaster=$(head -n 1 "$WORK/cluster/postmaster.pid")
	OUTPUT=$(mktemp -d -p "$output" pg_pardump_bench.XXXXXX)
	# shellcheck disable=SC2034 # read by clean_up
	ON_EXIT=remove_output
	echo major,set,text_bytes,codec,program,round,wall,client_cpu,server_cpu,bytes | tee "$WORK/runs.csv" >&8
	for set in ${sets//,/ }; do
		make_set "$set"
		measure_set "$set"
		drop_set "$set"
	done
	printf '\nPostgreSQL %s, %s jobs on %s processors, medians of %s runs\n' \
		"$(pg_config --version | sed 's/^PostgreSQL //')" "$jobs" "$(nproc)" "$rounds"
	"$TREE/bench/report.pl" "$WORK/runs.csv" "$(nproc)"
	"$TREE/bench/chart.pl" "$WORK/runs.csv" >&9
}

for option; do
	case $option in
		--size=*) size=${option#*=} ;;
		--quick) size=100MB rounds=3 ;;
		--rounds=*) rounds=${option#*=} ;;
		--jobs=*) jobs=${option#*=} ;;
		--sets=*) sets=${option#*=} ;;
		--codecs=*) codecs=${option#*=} ;;
		--programs=*) programs=${option#*=} ;;
		--output=*) output=${option#*=} ;;
		--results=*) results=${option#*=} ;;
		--debian=*) suite=${option#*=} ;;
		--help | -h) print_help; exit 0 ;;
		*) die "unknown option \"$option\"; see --help" ;;
	esac
done
bytes=$(numfmt --from=si "${size%B}")
open_results
[ -z "$suite" ] || run_on_other_release
# common.sh starts a script anew from scripts/ beside this directory.
PROGRAM=../bench/run.sh prepare "$@"
major=$(pg_major)
export PG_MAJOR=$major
codecs=${codecs:-$(default_codecs)}
main
