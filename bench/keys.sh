#!/bin/bash
#
# keys.sh: how long the foreign key of a partitioned table takes, by its own
# statement and partition by partition.
#
# usage: bench/keys.sh [OPTION]...
#
# Builds, starts a cluster of its own, fills eight partitions, which reference one
# table, and restores the key again and again: by pg_parrestore partition by
# partition (leaves), by pg_parrestore with one index job, and so by the table's
# statement (single), and by stock pg_restore (stock); the ways take turns.
# Prints each run's seconds and the medians.  Judges nothing.  Called by root, all
# runs as the user postgres.
#
#   --rows=N            of each partition (default 500000)
#   --rounds=N          runs of each way (default 3)
#   --jobs=N            processes of each restore (default 2)
#   --debian=SUITE      run on that Debian release's PostgreSQL, by
#                       scripts/chroot.sh; needs root
#
# PG_MAJOR is the PostgreSQL major to use, if not the newest installed.

set -euo pipefail
. "$(dirname "$0")/common.sh"

rows=500000
rounds=3
port=54321

fill()
{
	createdb keys
	cat >"$WORK/data.sql" <<'SQL'
CREATE TABLE customer (id int PRIMARY KEY, name text);
INSERT INTO customer SELECT g, md5(g::text) FROM generate_series(1, 1000000) g;
CREATE TABLE item (id int, customer int, note text) PARTITION BY RANGE (id);
SELECT format('CREATE TABLE item_%s PARTITION OF item FOR VALUES FROM (%s) TO (%s)', n, n * :rows, (n + 1) * :rows)
FROM generate_series(0, 7) n \gexec
INSERT INTO item SELECT g, 1 + g::bigint * 7919 % 1000000, md5(g::text) FROM generate_series(0, 8 * :rows - 1) g;
ALTER TABLE item ADD CONSTRAINT item_customer FOREIGN KEY (customer) REFERENCES customer;
VACUUM (FREEZE, ANALYZE);
CHECKPOINT;
SQL
	run_job psql -Xq --set=ON_ERROR_STOP=1 --set=rows="$rows" --file="$WORK/data.sql" keys
	run_job pg_dump -Fc --schema-only -f "$OUTPUT/keys" keys
	pg_restore -l "$OUTPUT/keys" | grep 'FK CONSTRAINT public item ' >"$OUTPUT/list"
}

command_of_way()
{
	case $1 in
		leaves) echo "pg_parrestore --no-analyze" ;;
		single) echo "pg_parrestore --no-analyze --index-jobs=1" ;;
		stock) echo "pg_restore" ;;
	esac
}

measure_way()
{
	run_job psql -Xqc "ALTER TABLE item DROP CONSTRAINT item_customer" keys
	run_job "$TREE/bench/measure.pl" "$postmasters" bash -c \
		"$(command_of_way "$1") -j $jobs --exit-on-error -L '$OUTPUT/list' -d keys '$OUTPUT/keys'" >"$WORK/measured" ||
		die "$1 failed"
	echo "$1,$2,$(cat "$WORK/measured")" | tee -a "$WORK/runs.csv"
}

main()
{
	local round way

	start_side cluster "$port"
	export PGPORT=$port
	fill
	echo "way,round,wall,client_cpu,session_cpu,other_cpu"
	for ((round = 1; round <= rounds; round++)); do
		for way in leaves single stock; do
			measure_way "$way" "$round"
		done
	done
	print_heading
	for way in leaves single stock; do
		printf '%s: %s s\n' "$way" "$(grep "^$way," "$WORK/runs.csv" | cut -d, -f3 | sort -n | sed -n "$(((rounds + 1) / 2))p")"
	done
}

for option; do
	case $option in
		--rows=*) rows=${option#*=} ;;
		--size=* | --quick | --sets=* | --results=*) die "unknown option \"$option\"; see --help" ;;
		*) take_option "$option" ;;
	esac
done
begin
main
