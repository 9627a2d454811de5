# shellcheck shell=bash
#
# common.sh: what the benchmarks beside it share; they source this file, which
# brings that of scripts/ too.  What only those need that fill databases, copy.sh
# and restore.sh, is at the end.

. "$(dirname "${BASH_SOURCE[0]}")/../scripts/common.sh"
. "$TREE/scripts/cluster.sh"
export -n PROGRAM	# "begin" below hands it on, and it would mean something to make

ARGUMENTS=("$@")	# the script's own
size=1GB
rounds=5
jobs=2
sets=pgbench,logs,mixed,docs,small
output=/dev/shm
results=.
suite=

# Take an option that the comparing benchmarks have in common.
take_option()
{
	case $1 in
		--size=*) size=${1#*=} ;;
		--quick) size=100MB rounds=3 ;;
		--rounds=*) rounds=${1#*=} ;;
		--jobs=*) jobs=${1#*=} ;;
		--sets=*) sets=${1#*=} ;;
		--results=*) results=${1#*=} ;;
		*) take_place "$1" ;;
	esac
}

# Take an option that all of them have.
take_place()
{
	case $1 in
		--output=*) output=${1#*=} ;;
		--debian=*) suite=${1#*=} ;;
		--help | -h) print_help; exit 0 ;;
		*) die "unknown option \"$1\"; see --help" ;;
	esac
}

# Is $2 in the list $1?
has()
{
	[[ ,$1, == *,$2,* ]]
}

# Are files of results to be opened here?  That is done while this process is
# still who it was called by; the processes that follow inherit them.
opens_results()
{
	[ "$results" != inherited ] && [ -z "${PG_PARDUMP_WORK:-}" ]
}

# Continue, after the options, as an ordinary user with a work directory, on the
# release that --debian names: there this script starts again, with the options
# given here in addition.
begin()
{
	if [ -n "$suite" ]; then
		exec "$TREE/scripts/chroot.sh" "$suite" "bench/$PROGRAM" "${ARGUMENTS[@]}" --debian= "$@"
	fi
	# scripts/common.sh starts a script again from scripts/, next to this directory.
	PROGRAM=../bench/$PROGRAM prepare "${ARGUMENTS[@]}"
	major=$(pg_major)
	export PG_MAJOR=$major
	run_job "$TREE/scripts/temp_install.sh" "$WORK/build" >"$WORK/bindir"
	bindir=$(cat "$WORK/bindir")
	PATH=$bindir:$PATH
	OUTPUT=$(mktemp -d -p "$output" pg_pardump_bench.XXXXXX)
	# shellcheck disable=SC2034 # read by clean_up
	ON_EXIT=remove_output
}

remove_output()
{
	rm -rf "$OUTPUT"
}

# The process of the cluster that was started last.
postmaster_pid()
{
	head -n 1 "$WORK/$CLUSTER/postmaster.pid"
}

# Fill the database of the data set $1, which is not there yet.
fill_set()
{
	log "$1: making data"
	createdb "$1"
	run_job psql -Xq --set=bytes="$(numfmt --from=si "${size%B}")" --file="$TREE/bench/data_$1.sql" "$1" \
		>"$WORK/data.log"
	run_job psql -Xqc "CREATE EXTENSION pg_pardump" "$1"
	run_job psql -Xqc "VACUUM (FREEZE, ANALYZE)" "$1"
	run_job psql -Xqc CHECKPOINT
}

# Of all files in the directory $1.
bytes_below()
{
	find "$1" -type f -printf '%s\n' | awk '{ n += $1 } END { print n }'
}

# The heading of the tables; without a number of jobs if $jobs is empty.
print_heading()
{
	printf '\nPostgreSQL %s, %s%s processors, medians of %s runs\n' \
		"$(pg_config --version | sed 's/^PostgreSQL //')" "${jobs:+$jobs jobs on }" "$(nproc)" "$rounds"
}

# What follows is for comparisons of ways to fill a database of the server at
# $target_port.  The script that sources this defines measure_way,
# which is told set, kind of indexes, way and round, and sets $ways and $target_port.

indexes=none,key,all	# kinds of indexes

# Take an option of such a comparison.
take_ways_option()
{
	case $1 in
		--indexes=*) indexes=${1#*=} ;;
		--ways=*) ways=${1#*=} ;;
		*) take_option "$1" ;;
	esac
}

# Start the cluster $1 at port $2, and add its postmaster's process ID to the list
# $postmasters.  Durability costs the same whichever way rows come: it is left out.
start_side()
{
	CLUSTER=$1
	CLUSTER_PORT=$2
	start_cluster "$bindir" "shared_buffers = 512MB" "autovacuum = off" "fsync = off" \
		"max_wal_size = 8GB" "max_locks_per_transaction = 256" "maintenance_work_mem = 256MB"
	postmasters=${postmasters:+$postmasters,}$(postmaster_pid)
}

# The kinds of indexes of the data set $1, each with those of the kind before.
# Sets of many tables have indexes of their own.
kinds_of_set()
{
	case $1 in
		small | demo) echo own ;;
		*) echo none key all ;;
	esac
}

# What brings the table of the data set $1 to the kind $2 of indexes from the
# kind before.
index_definitions()
{
	case $1:$2 in
		pgbench:key) echo "ALTER TABLE pgbench_accounts ADD PRIMARY KEY (aid)" ;;
		pgbench:all) echo "CREATE INDEX ON pgbench_accounts (bid); CREATE INDEX ON pgbench_accounts (abalance)" ;;
		logs:key) echo "ALTER TABLE logs ADD PRIMARY KEY (id)" ;;
		logs:all) echo "CREATE INDEX ON logs (logged_at); CREATE INDEX ON logs (session)" ;;
		mixed:key) echo "ALTER TABLE mixed ADD PRIMARY KEY (id)" ;;
		mixed:all) echo "CREATE INDEX ON mixed (created, price); CREATE INDEX ON mixed (updated)" ;;
		docs:key) echo "ALTER TABLE docs ADD PRIMARY KEY (id)" ;;
		docs:all) echo "CREATE INDEX ON docs (title); CREATE INDEX ON docs (length(body))" ;;
		*) echo "SELECT" ;;
	esac
}

# pg_dump's name of the codec that pg_pardump takes by itself.
default_codec()
{
	if [ "$major" -ge 16 ]; then
		echo zstd:1
	else
		echo 1	# of gzip, the only one that pg_dump has before 16
	fi
}

# Bytes of all tables of the database $1 with their TOAST, and of all indexes,
# as SIZE,SIZE.
relation_bytes()
{
	psql -XAt --field-separator=, -c "SELECT coalesce(sum(pg_table_size(oid)), 0), coalesce(sum(pg_indexes_size(oid)), 0)
		FROM pg_class WHERE relkind IN ('r', 'm') AND relnamespace = 'public'::regnamespace" "$1"
}

# Begin the table of runs, with columns for the CPU of another server than the
# target if $1 names them.
start_runs()
{
	echo "major,set,indexes,data_bytes,way,round,wall,client_cpu,session_cpu,other_cpu,${1:+$1,}wal_bytes,table_bytes,index_bytes" |
		tee "$WORK/runs.csv" >&8
}

# Write down what the database $1 holds, as the file $2, without the tables of the
# extension, which archives of pg_pardump leave out.
take_fingerprint()
{
	run_job psql -XAt --file="$TREE/scripts/fingerprint.sql" --output="$2" "$1" >/dev/null
	sed -i '/^table pardump[.]/d' "$2"
}

# Fill the database $1 by the shell command $2 and record what it took, as that of
# the set $3, the kind $4 of indexes, the way $5 and the round $6.  In the first
# round see that all has come.
measure_filling()
{
	local -x PGPORT=$target_port
	local database=$1 command=$2 set=$3 kind=$4 way=$5 round=$6
	local start

	createdb -T template0 "$database"
	run_job psql -Xqc CHECKPOINT
	start=$(psql -XAtc "SELECT pg_current_wal_lsn()")
	run_job "$TREE/bench/measure.pl" "$postmasters" bash -o pipefail -c "$command" >"$WORK/measured" ||
		die "this failed: $command"
	echo "$major,$set,$kind,$data_bytes,$way,$round,$(cat "$WORK/measured"),$(psql -XAtc \
		"SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '$start')"),$(relation_bytes "$database")" |
		tee -a "$WORK/runs.csv" >&8
	if [ "$round" -eq 1 ]; then
		take_fingerprint "$database" "$WORK/filled.data"
		diff "$WORK/set.data" "$WORK/filled.data" >"$WORK/data.diff" || {
			cat "$WORK/data.diff" >&2
			die "$set, indexes: $kind: $way has other rows"
		}
	fi
	dropdb "$database"
}

# Prepare a set with a kind of indexes, once for both.  Does nothing unless the
# script redefines it.
prepare_kind()
{
	:
}

# All rounds of the set $1 with the kind $2 of indexes, the ways taking turns.
measure_kind()
{
	local round way

	data_bytes=$(relation_bytes "$1")
	data_bytes=${data_bytes%,*}
	prepare_kind "$1" "$2"
	for ((round = 1; round <= rounds; round++)); do
		log "$1, indexes: $2: round $round of $rounds"
		for way in ${ways//,/ }; do
			measure_way "$1" "$2" "$way" "$round"
		done
	done
}

# Fill one set after the other, and measure each with every kind of indexes that
# is asked for.
measure_sets()
{
	local set kind

	for set in ${sets//,/ }; do
		fill_set "$set"
		take_fingerprint "$set" "$WORK/set.data"
		for kind in $(kinds_of_set "$set"); do
			run_job psql -Xqc "$(index_definitions "$set" "$kind")" "$set" >"$WORK/data.log"
			if has "$indexes,own" "$kind"; then
				measure_kind "$set" "$kind"
			fi
		done
		run_job dropdb "$set"
	done
}
