#!/bin/bash
#
# leader.sh: what a dump by very many workers costs its leader.
#
# usage: bench/leader.sh [OPTION]...
#
# Builds, starts a cluster of its own, and dumps a table whose chunks take about 25
# seconds each, asleep, so that many workers fit on one machine: each needs some MB
# of memory, with its session.  Prints the CPU time of the leader's own process from
# when all workers are there to the last but one job of each, by job and as a share
# of a core.  Judges nothing.  Called by root, all runs as the user postgres.
#
#   --workers=N         (default 1000)
#   --rounds=N          chunks for each worker (default 4)
#   --output=DIRECTORY  for the archive (default /dev/shm)
#   --debian=SUITE      run on that Debian release's PostgreSQL, by
#                       scripts/chroot.sh; needs root
#
# PG_MAJOR is the PostgreSQL major to use, if not the newest installed.

set -euo pipefail
. "$(dirname "$0")/common.sh"

workers=1000
rounds=4

# Jobs are of single chunks only if these are of more than half a megabyte.
pages=65

fill()
{
	createdb leader
	run_job psql -Xqc "CREATE TABLE t (id int, f text) WITH (fillfactor = 10)" \
		-c "ALTER TABLE t ALTER f SET STORAGE PLAIN" \
		-c "INSERT INTO t SELECT g, repeat('x', 900) FROM generate_series(1, $((workers * rounds * pages))) g" leader
}

# Nanoseconds on a processor, of the first thread alone.
cpu_ns()
{
	cut -d' ' -f1 "/proc/$1/schedstat"
}

# How many chunks have been dumped or are being dumped.
files()
{
	find "$OUTPUT/archive" -name '*.dat' | wc -l
}

# Wait until there are so many.
wait_for()
{
	while [ "$(files)" -lt "$1" ]; do
		kill -0 "$leader" 2>/dev/null || die "the dump ended: $(cat "$WORK/dump.log")"
		sleep 0.2
	done
}

main()
{
	local begin_ns end_ns begin_s end_s n

	start_cluster "$bindir" "max_connections = $((workers + 20))" 'fsync = off' 'autovacuum = off'
	fill
	ulimit -n "$((workers * 2 + 200))"
	"$bindir/pg_pardump" -d leader -f "$OUTPUT/archive" --no-sync -Z none -j "$workers" \
		--max-table-segment-pages=$pages \
		--where="t:id % $pages = 0 AND pg_catalog.pg_sleep(20 + 10 * random()) IS NOT NULL" \
		>"$WORK/dump.log" 2>&1 &
	leader=$!
	while [ ! -d "$OUTPUT/archive" ]; do sleep 0.1; done
	wait_for "$((workers + 1))"
	begin_ns=$(cpu_ns $leader) begin_s=$(date +%s.%N) n=$(files)
	wait_for "$((workers * (rounds - 1)))"
	end_ns=$(cpu_ns $leader) end_s=$(date +%s.%N) n=$(($(files) - n))
	kill "$leader"
	wait "$leader" || true
	awk -v workers="$workers" -v n="$n" -v ns="$((end_ns - begin_ns))" -v from="$begin_s" -v to="$end_s" 'BEGIN {
		s = to - from
		printf "%d workers: %d jobs in %.0f s, %.2f s of CPU: %.0f microseconds a job, %.2f %% of a core\n",
			workers, n, s, ns / 1e9, ns / 1e3 / n, ns / 1e7 / s }'
}

for option; do
	case $option in
		--workers=*) workers=${option#*=} ;;
		--rounds=*) rounds=${option#*=} ;;
		*) take_place "$option" ;;
	esac
done
begin
main
