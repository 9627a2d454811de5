# shellcheck shell=bash
#
# common.sh: what the benchmarks beside it share; they source this file, which
# brings that of scripts/ too.

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

# Are files of results to be opened here?  That is done while this process is
# still who it was called by; the processes that follow inherit them.
opens_results()
{
	[ "$results" != inherited ] && [ -z "${PG_PARDUMP_WORK:-}" ]
}

# Go on, after the options, as an ordinary user with a work directory, on the
# release that --debian names: there this script starts anew, with the options
# given here besides.
begin()
{
	if [ -n "$suite" ]; then
		exec "$TREE/scripts/chroot.sh" "$suite" "bench/$PROGRAM" "${ARGUMENTS[@]}" --debian= "$@"
	fi
	# scripts/common.sh starts a script anew from scripts/ beside this directory.
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

# Fill the database of the data set $1, which is not there yet, and run the SQL
# $2 in it.
fill_set()
{
	createdb "$1"
	run_job psql -Xq --set=bytes="$(numfmt --from=si "${size%B}")" --file="$TREE/bench/data_$1.sql" "$1" \
		>"$WORK/data.log"
	run_job psql -Xqc "$2" "$1" >>"$WORK/data.log"
	run_job psql -Xqc "CREATE EXTENSION pg_pardump" "$1"
	run_job psql -Xqc "VACUUM (FREEZE, ANALYZE)" "$1"
	run_job psql -Xqc CHECKPOINT
}

print_heading()
{
	printf '\nPostgreSQL %s, %s jobs on %s processors, medians of %s runs\n' \
		"$(pg_config --version | sed 's/^PostgreSQL //')" "$jobs" "$(nproc)" "$rounds"
}
