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
. "$(dirname "$0")/common.sh"

codecs=
programs=stock,sql,client,server

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

	fill_set "$set"
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
	by_extension=$(grep -c 'contents of .* with the extension' "$WORK/verbose.log") || true
	log "$1: $text_bytes bytes of text, $by_extension pieces read by the extension," \
		"$(grep -c 'contents of .* with COPY' "$WORK/verbose.log" || true) by COPY"
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
		client:default) command=(pg_pardump -Z "client-$(codec_of_default)") ;;
		client:*) command=(pg_pardump -Z "client-$codec") ;;
		server:default) command=(pg_pardump) ;;
		server:none) return 1 ;;
		server:*) command=(pg_pardump -Z "server-$codec") ;;
	esac
}

# Tell the result of a run.  Arguments: set, codec, program, round, and
# wall,client,sessions,other,bytes: seconds, CPU seconds and the archive's size.
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
	size=$(bytes_below "$OUTPUT/archive")
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

main()
{
	local set

	run_job gcc -O2 -Wall -I"$TREE/src" "$TREE/bench/floor.c" "$TREE"/src/shared/*.c \
		-o "$WORK/floor" -lzstd -llz4 -ldeflate -lisal
	# Durability costs time when data is made, and nothing is written after.
	start_cluster "$bindir" "shared_buffers = 512MB" "autovacuum = off" "fsync = off" "wal_level = minimal" \
		"max_wal_senders = 0" "max_wal_size = 8GB" "work_mem = 64MB" "max_locks_per_transaction = 256"
	postmaster=$(postmaster_pid)
	echo major,set,text_bytes,codec,program,round,wall,client_cpu,session_cpu,other_cpu,bytes | tee "$WORK/runs.csv" >&8
	for set in ${sets//,/ }; do
		make_set "$set"
		measure_set "$set"
		drop_set "$set"
	done
	print_heading
	"$TREE/bench/report.pl" "$WORK/runs.csv" "$(nproc)"
	"$TREE/bench/chart.pl" "$WORK/runs.csv" >&9
}

for option; do
	case $option in
		--codecs=*) codecs=${option#*=} ;;
		--programs=*) programs=${option#*=} ;;
		*) take_option "$option" ;;
	esac
done
if opens_results; then
	exec 8>"$results/pg_pardump_bench.csv" 9>"$results/pg_pardump_bench.svg"
fi
begin --results=inherited
codecs=${codecs:-$(default_codecs)}
main
