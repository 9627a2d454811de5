#!/bin/bash
#
# basebackup.sh: compare base backups by pg_parbasebackup with pg_basebackup's.
#
# usage: bench/basebackup.sh [OPTION]...
#
# Builds, starts a cluster of its own with page checksums, fills the data sets, and
# backs the cluster up, the ways taking turns; then extracts a backup in tar format, by
# tar and by pg_parbasebackup.  Prints a table of medians beside the ways of
# pg_basebackup, and writes every run to pg_pardump_basebackup.csv.  Judges
# nothing; see bench/README.md for what is measured.  Called by root, all runs as the
# user postgres.
#
#   --size=SIZE         text of each data set, as COPY writes it (default 600MB)
#   --quick             the same as --size=100MB --rounds=3
#   --rounds=N          runs of each way (default 5)
#   --jobs=N            connections of pg_parbasebackup (default 2)
#   --sets=LIST         of pgbench,logs,mixed,docs (default: all)
#   --files=N           add a database of N tables of one page, each a small file
#                       (default 0); with --sets=, the cluster has no other data
#   --ways=LIST         of stock-plain,sql-plain,plain,stock-zstd,stock-zstd-workers,
#                       stock-pipe,sql-zstd,zstd,stock-lz4,sql-lz4,lz4,stock-gzip,tar,
#                       extract (default: all of these), and stock-pigz, which needs
#                       pigz; "sql" reads without the extension, and compresses on
#                       the client
#   --output=DIRECTORY  where backups are written (default /dev/shm)
#   --results=DIRECTORY where the CSV is written (default: this one)
#   --debian=SUITE      run on that Debian release's PostgreSQL, by
#                       scripts/chroot.sh; needs root
#
# PG_MAJOR is the PostgreSQL major to use, if not the newest installed.

set -euo pipefail
. "$(dirname "$0")/common.sh"

size=600MB
sets=pgbench,logs,mixed,docs
files=0
ways=stock-plain,sql-plain,plain,stock-zstd,stock-zstd-workers,stock-pipe,sql-zstd,zstd,stock-lz4,sql-lz4,lz4,stock-gzip,tar,extract

# Set the array $command to what way $1 runs.
choose_command()
{
	local -a stock=(pg_basebackup -c fast --no-sync -X fetch -D "$OUTPUT/backup")
	local -a own=(pg_parbasebackup -c fast --no-sync -X fetch -D "$OUTPUT/backup" -j "$jobs")

	case $1 in
		stock-plain) command=("${stock[@]}") ;;
		sql-plain) command=("${own[@]}" --no-extension) ;;
		plain) command=("${own[@]}") ;;
		stock-zstd) command=("${stock[@]}" -Ft -Z server-zstd:1) ;;
		stock-zstd-workers) command=("${stock[@]}" -Ft -Z server-zstd:level=1,workers="$jobs") ;;
		stock-lz4) command=("${stock[@]}" -Ft -Z server-lz4) ;;
		stock-gzip) command=("${stock[@]}" -Ft -z) ;;
		stock-pipe) command=(bash -c "mkdir '$OUTPUT/backup' &&
			pg_basebackup -c fast -X fetch -Ft -D - | zstd -1 -T$jobs -q -o '$OUTPUT/backup/base.tar.zst'") ;;
		stock-pigz) command=(bash -c "set -o pipefail; mkdir '$OUTPUT/backup' &&
			pg_basebackup -c fast -X fetch -Ft -D - | pigz -p $jobs >'$OUTPUT/backup/base.tar.gz'") ;;
		sql-zstd) command=("${own[@]}" -Ft -Z zstd:1 --no-extension) ;;
		zstd) command=("${own[@]}" -Ft -Z server-zstd:1) ;;
		sql-lz4) command=("${own[@]}" -Ft -Z lz4 --no-extension) ;;
		lz4) command=("${own[@]}" -Ft -Z server-lz4) ;;
		tar) command=(bash -c "mkdir '$OUTPUT/backup' && tar --zstd -xf '$OUTPUT/taken/base.tar.zst' -C '$OUTPUT/backup'") ;;
		extract) command=(pg_parbasebackup --extract="$OUTPUT/taken" -D "$OUTPUT/backup" -j "$jobs" --no-sync) ;;
		*) die "there is no way \"$1\"; see --help" ;;
	esac
}

measure_way()
{
	local way=$1 round=$2
	local -a command
	local bytes

	choose_command "$way"
	run_job "$TREE/bench/measure.pl" "$postmaster" "${command[@]}" >"$WORK/measured" ||
		die "this failed: ${command[*]}"
	bytes=$(bytes_below "$OUTPUT/backup")
	echo "$major,$data_bytes,$way,$round,$(cat "$WORK/measured"),$bytes" | tee -a "$WORK/runs.csv" >&8
	if [ "$round" -eq 1 ] && [[ $way =~ ^(sql-plain|plain|extract)$ ]]; then
		run_job pg_verifybackup "$OUTPUT/backup" >"$WORK/verify.log" || die "$way: not verified"
	fi
	rm -rf "$OUTPUT/backup"
}

enable_checksums()
{
	if [ "$(psql -XAtc 'SHOW data_checksums')" = off ]; then
		run_job pg_ctl stop --pgdata="$WORK/$CLUSTER" --silent --mode=fast
		run_job pg_checksums --enable --no-sync --pgdata="$WORK/$CLUSTER" >"$WORK/checksums.log"
		run_job pg_ctl start --pgdata="$WORK/$CLUSTER" --wait --silent --log="$WORK/$CLUSTER.log" \
			-o "-p $PGPORT" >/dev/null
	fi
}

# Each in a transaction of its own: as many locks at a time there are not.
fill_files()
{
	log "making $files tables"
	createdb files
	# from a file: a job of the background has no standard input
	cat >"$WORK/files.sql" <<-END
		SELECT pg_catalog.format('CREATE TABLE t%s AS SELECT %s AS a', g, g) FROM pg_catalog.generate_series(1, $files) g \\gexec
	END
	run_job psql -Xqt --set=ON_ERROR_STOP=1 --file="$WORK/files.sql" files >"$WORK/data.log"
}

main()
{
	local set round way

	start_cluster "$bindir" "shared_buffers = 512MB" "autovacuum = off" "fsync = off" "max_wal_size = 8GB" \
		"work_mem = 64MB"
	enable_checksums
	postmaster=$(postmaster_pid)
	for set in ${sets//,/ }; do
		fill_set "$set"
	done
	if [ "$files" -gt 0 ]; then
		fill_files
	fi
	run_job psql -Xqc 'CREATE EXTENSION pg_pardump' -d postgres
	run_job psql -Xqc CHECKPOINT
	data_bytes=$(psql -XAtc 'SELECT sum(pg_database_size(oid)) FROM pg_database')
	echo major,data_bytes,way,round,wall,client_cpu,session_cpu,other_cpu,bytes | tee "$WORK/runs.csv" >&8
	if has "$ways" tar || has "$ways" extract; then
		run_job pg_parbasebackup -c fast --no-sync -X fetch -Ft -Z zstd:1 -j "$jobs" -D "$OUTPUT/taken"
	fi
	for ((round = 1; round <= rounds; round++)); do
		log "round $round of $rounds"
		for way in ${ways//,/ }; do
			measure_way "$way" "$round"
		done
	done
	print_heading
	"$TREE/bench/basebackup_report.pl" "$WORK/runs.csv"
}

for option; do
	case $option in
		--ways=*) ways=${option#*=} ;;
		--files=*) files=${option#*=} ;;
		*) take_option "$option" ;;
	esac
done
if opens_results; then
	exec 8>"$results/pg_pardump_basebackup.csv"
fi
begin --results=inherited
main
