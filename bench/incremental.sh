#!/bin/bash
#
# incremental.sh: compare incremental dumps with full ones, and tell what a row of
# nights takes on disk.
#
# usage: bench/incremental.sh [OPTION]...
#
# Builds, starts a cluster of its own, fills one data set after the other, and dumps
# it again and again, the ways taking turns: by pg_dump (stock), by pg_pardump without
# and with fingerprints (full, recorded), and incrementally, where nothing has changed
# (same), where every chunk has from its beginning (changed), and where each has, but
# behind what is looked at first (late).  Then dumps the first set of --nights-sets for
# N nights, of which each appends 1 % of the rows, or updates a stretch of 1 %, with
# chunks of 4 MB and of the size that pg_pardump chooses.  Prints tables of medians, and
# writes every run to pg_pardump_incremental.csv and every night to
# pg_pardump_nights.csv.  Judges nothing; see bench/README.md for what is measured.
# Called by root, all runs as the user postgres.
#
#   --size=SIZE         text of each data set, as COPY writes it (default 1GB)
#   --quick             the same as --size=100MB --rounds=3 --nights=5
#   --rounds=N          runs of each way (default 5)
#   --jobs=N            processes of each dump (default 2)
#   --sets=LIST         of pgbench,logs,mixed,docs (default: all)
#   --ways=LIST         of stock,full,recorded,same,changed,late (default: all of
#                       these), and summaries, as "same", but by summaries of the
#                       write-ahead log: of 17 and newer, where the server keeps them
#   --nights=N          how many nights (default 30; 0: none)
#   --nights-sets=LIST  of the sets (default pgbench)
#   --output=DIRECTORY  where archives are written (default /dev/shm)
#   --results=DIRECTORY where the CSVs are written (default: this one)
#   --debian=SUITE      run on that Debian release's PostgreSQL, by
#                       scripts/chroot.sh; needs root
#
# PG_MAJOR is the PostgreSQL major to use, if not the newest installed.

set -euo pipefail
. "$(dirname "$0")/common.sh"

sets=pgbench,logs,mixed,docs
ways=stock,full,recorded,same,changed,late
nights=30
nights_sets=pgbench

# A copy $2 of the archive $1, by links, whose manifest has other fingerprints: those
# that the names which follow name.
pretend_changes()
{
	local from=$1 to=$2

	shift 2
	cp -al "$from" "$to"
	rm "$to/pg_pardump_manifest.json"
	run_job perl -MDigest::SHA=sha256_hex -e '
		my ($from, $to, @names) = @ARGV;
		local $/;
		open my $in, "<", $from or die "$from: $!\n";
		my $text = <$in>;
		$text =~ s/"Manifest-Checksum".*//s;
		foreach my $name (@names)
		{
			$text =~ s/("$name": ")(\w)/$1 . ($2 eq "0" ? 1 : 0)/ge or die "the manifest has no $name\n";
		}
		open my $out, ">", $to or die "$to: $!\n";
		print $out $text, "\"Manifest-Checksum\": \"", sha256_hex($text), "\"}\n";
		close $out or die "$to: $!\n";
	' "$from/pg_pardump_manifest.json" "$to/pg_pardump_manifest.json" "$@"
}

# The archives that the incremental ways go on from: $OUTPUT/same, changed, late.
make_previous()
{
	run_job pg_pardump -j "$jobs" --manifest-fingerprints -f "$OUTPUT/same" "$1"
	if has "$ways" summaries; then
		# a position in what a checkpoint ended would have the load behind it, too
		run_job psql -Xqc CHECKPOINT "$1"
		run_job pg_pardump -j "$jobs" --manifest-fingerprints --incremental-by=wal-summaries \
			-f "$OUTPUT/summaries" "$1"
	fi
	pretend_changes "$OUTPUT/same" "$OUTPUT/late" Fingerprint
	pretend_changes "$OUTPUT/same" "$OUTPUT/changed" Fingerprint First-Fingerprint
}

# Set the array $command to what way $1 runs, but for the database.
choose_command()
{
	case $1 in
		stock) command=(pg_dump -Fd -j "$jobs") ;;
		full) command=(pg_pardump -j "$jobs") ;;
		recorded) command=(pg_pardump -j "$jobs" --manifest-fingerprints) ;;
		summaries) command=(pg_pardump -j "$jobs" --incremental="$OUTPUT/$1" --incremental-by=wal-summaries) ;;
		same | changed | late) command=(pg_pardump -j "$jobs" --incremental="$OUTPUT/$1") ;;
		*) die "there is no way \"$1\"; see --help" ;;
	esac
}

# How many files of rows the archive $1 has, and how many of them are reused, as
# FILES,REUSED.
count_files()
{
	local manifest=$1/pg_pardump_manifest.json

	if [ -e "$manifest" ]; then
		echo "$(grep -c '"Kind": "rows"' "$manifest"),$(grep -c '"Reused": "' "$manifest" || true)"
	else
		echo ,
	fi
}

measure_way()
{
	local set=$1 way=$2 round=$3
	local -a command
	local bytes

	choose_command "$way"
	run_job "$TREE/bench/measure.pl" "$postmaster" "${command[@]}" -f "$OUTPUT/archive" "$set" \
		>"$WORK/measured" || die "this failed: ${command[*]} $set"
	bytes=$(bytes_below "$OUTPUT/archive")
	echo "$major,$set,$data_bytes,$way,$round,$(cat "$WORK/measured"),$bytes,$(count_files "$OUTPUT/archive")" |
		tee -a "$WORK/runs.csv" >&8
	if [ "$round" -eq 1 ] && [ "$way" = same ]; then
		run_job pg_pardump -j "$jobs" --verify="$OUTPUT/archive" >"$WORK/verify.log" || die "$set: not verified"
	fi
	rm -rf "$OUTPUT/archive"
}

measure_set()
{
	local set=$1
	local round way

	data_bytes=$(relation_bytes "$set")
	data_bytes=${data_bytes%,*}
	make_previous "$set"
	for ((round = 1; round <= rounds; round++)); do
		log "$set: round $round of $rounds"
		for way in ${ways//,/ }; do
			measure_way "$set" "$way" "$round"
		done
	done
	rm -rf "$OUTPUT/same" "$OUTPUT/changed" "$OUTPUT/late" "$OUTPUT/summaries"
}

table_of_set()
{
	case $1 in
		pgbench) echo pgbench_accounts ;;
		*) echo "$1" ;;
	esac
}

# The statement with which night $3 of the kind $2 changes the set $1.  An update
# stores a new version of the row elsewhere, even if no value changes.
change_of_night()
{
	local set=$1 kind=$2 night=$3
	local table column

	table=$(table_of_set "$set")
	case $set in
		pgbench) column=abalance ;;
		docs) column=title ;;
		*) column=id ;;
	esac
	case $kind in
		append) echo "INSERT INTO $table SELECT * FROM $table LIMIT (SELECT count(*) / 100 FROM $table)" ;;
		update) echo "SELECT pg_relation_size('$table') / current_setting('block_size')::int AS blocks \\gset
			SELECT :blocks * ($night * 37 % 97) / 100 AS from_block \\gset
			SELECT format('UPDATE $table SET $column = $column WHERE ctid >= ''(%s,0)'' AND ctid < ''(%s,0)''',
				:from_block, :from_block + :blocks / 100) \\gexec" ;;
	esac
}

# The bytes of all files below $OUTPUT/nights, of those with several names once.
bytes_of_nights()
{
	find "$OUTPUT/nights" -type f -printf '%i %s\n' | sort -u | awk '{ n += $2 } END { print n }'
}

# All nights of the kind $2 with chunks of the size $3, if it is not "default".
measure_nights()
{
	local set=$1 kind=$2 chunk=$3
	local night previous bytes
	local -a options=()

	if [ "$chunk" != default ]; then
		options=(--chunk-size="$chunk")
	fi
	createdb -T "$set" nights
	mkdir "$OUTPUT/nights"
	run_job pg_pardump -j "$jobs" "${options[@]}" --manifest-fingerprints -f "$OUTPUT/nights/0" nights
	for ((night = 1; night <= nights; night++)); do
		previous=$((night - 1))
		change_of_night "$set" "$kind" "$night" >"$WORK/change.sql"
		run_job psql -XqAt -v ON_ERROR_STOP=1 --file="$WORK/change.sql" nights >"$WORK/change.log"
		run_job psql -Xqc VACUUM nights
		run_job "$TREE/bench/measure.pl" "$postmaster" pg_pardump -j "$jobs" "${options[@]}" \
			--incremental="$OUTPUT/nights/$previous" -f "$OUTPUT/nights/$night" nights >"$WORK/measured" ||
			die "night $night of $set failed"
		bytes=$(bytes_below "$OUTPUT/nights/$night")
		echo "$major,$set,$kind,$chunk,$night,$(cat "$WORK/measured"),$bytes,$(bytes_of_nights),$(count_files \
			"$OUTPUT/nights/$night")" | tee -a "$WORK/nights.csv" >&9
	done
	run_job pg_pardump -j "$jobs" --verify="$OUTPUT/nights/$nights" >"$WORK/verify.log" || die "$set: not verified"
	rm -rf "$OUTPUT/nights"
	dropdb nights
}

main()
{
	local set kind chunk
	local -a wal=("wal_level = minimal" "max_wal_senders = 0")

	if has "$ways" summaries; then
		wal=("wal_level = replica" "summarize_wal = on")
	fi
	start_cluster "$bindir" "shared_buffers = 512MB" "autovacuum = off" "fsync = off" "${wal[@]}" \
		"max_wal_size = 8GB" "work_mem = 64MB"
	postmaster=$(postmaster_pid)
	echo major,set,data_bytes,way,round,wall,client_cpu,session_cpu,other_cpu,bytes,files,reused | tee "$WORK/runs.csv" >&8
	echo major,set,kind,chunk,night,wall,client_cpu,session_cpu,other_cpu,bytes,all_bytes,files,reused |
		tee "$WORK/nights.csv" >&9
	for set in ${sets//,/ }; do
		fill_set "$set"
		measure_set "$set"
		if [ "$nights" -gt 0 ] && has "$nights_sets" "$set"; then
			for kind in append update; do
				for chunk in 4MB default; do
					log "$set: $nights nights, $kind, chunks: $chunk"
					measure_nights "$set" "$kind" "$chunk"
				done
			done
		fi
		run_job dropdb "$set"
	done
	print_heading
	"$TREE/bench/incremental_report.pl" "$WORK/runs.csv" "$WORK/nights.csv"
}

for option; do
	case $option in
		--ways=*) ways=${option#*=} ;;
		--nights=*) nights=${option#*=} ;;
		--nights-sets=*) nights_sets=${option#*=} ;;
		--quick) nights=5; take_option "$option" ;;
		*) take_option "$option" ;;
	esac
done
if opens_results; then
	exec 8>"$results/pg_pardump_incremental.csv" 9>"$results/pg_pardump_nights.csv"
fi
begin --results=inherited
main
