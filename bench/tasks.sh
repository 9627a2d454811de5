#!/bin/bash
#
# tasks.sh: compare tasks of one worker each with as many workers of one run.
#
# usage: bench/tasks.sh [OPTION]...
#
# Builds, starts a cluster of its own, fills one data set after the other and dumps it
# again and again: by N workers (workers), and by tasks, of which
# N run at a time, each of one worker: as many as that (tasks), and eight times
# as many (more). The ways take turns.  Prints each run's seconds, and at the
# end the medians, and those of how many times as long as by the first of the ways
# it took, round by round.  Judges nothing.  Called by root, all runs as the user postgres.
#
#   --size=SIZE         text of each data set, as COPY writes it (default 1GB)
#   --quick             the same as --size=100MB --rounds=3
#   --rounds=N          runs of each way (default 5)
#   --jobs=N            workers, or tasks at a time (default 2)
#   --sets=LIST         of pgbench,logs,mixed,docs,small (default: all)
#   --ways=LIST         of workers,tasks,more (default: all)
#   --output=DIRECTORY  where archives are written (default /dev/shm)
#   --debian=SUITE      run on that Debian release's PostgreSQL, by
#                       scripts/chroot.sh; needs root
#
# PG_MAJOR is the PostgreSQL major to use, if not the newest installed.

set -euo pipefail
. "$(dirname "$0")/common.sh"

port=54321
postmasters=
ways=workers,tasks,more

# Set the array $command to what is run by way $1.
choose_command()
{
	local n=$jobs

	if [ "$1" = workers ]; then
		command=(pg_pardump -j "$jobs")
		return
	fi
	if [ "$1" = more ]; then n=$((8 * jobs)); fi
	command=(pg_pardump --tasks="$n" --run-tasks="echo %L | tr ' ' '\\n' | xargs -P$jobs -I{} pg_pardump --plan=%p --task={}/%n -j1")
}

# measure SET WAY ROUND ARGUMENT...
measure()
{
	local set=$1 way=$2 round=$3
	local -a command

	shift 3
	choose_command "$way"
	run_job "$TREE/bench/measure.pl" "$postmasters" "${command[@]}" "$@" >"$WORK/measured" ||
		die "this failed: ${command[*]} $*"
	echo "$set,$way,$round,$(cat "$WORK/measured")" | tee -a "$WORK/runs.csv"
}

# The ways change places from round to round: whatever comes after another thing
# is not always the same.
order_of_round()
{
	local -a list
	local way order=

	IFS=, read -ra list <<<"$ways"
	for way in "${list[@]}"; do
		if [ $(($1 % 2)) -eq 1 ]; then order="$order $way"; else order="$way $order"; fi
	done
	echo "$order"
}

measure_round()
{
	local set=$1 round=$2 way

	for way in $(order_of_round "$round"); do
		rm -rf "$OUTPUT/archive"
		measure "$set" "$way" "$round" -f "$OUTPUT/archive" -d "$set"
	done
}

# The medians of set $1 and way $2: of seconds, and of CPU seconds of the
# programs and the server's sessions.
medians()
{
	local middle=$(((rounds + 1) / 2))

	printf '%s s, %s s of CPU' \
		"$(grep "^$1,$2," "$WORK/runs.csv" | cut -d, -f4 | sort -n | sed -n "${middle}p")" \
		"$(awk -F, -v run="$1,$2," 'index($0, run) == 1 { print $5 + $6 }' "$WORK/runs.csv" | sort -n | sed -n "${middle}p")"
}

# By what set $1 took longer by way $2 than by the first, round by round:
# the median, and between which half of the rounds are.
ratios()
{
	awk -F, -v run="$1," -v first="${ways%%,*}" -v way="$2" '
		index($0, run) == 1 { seconds[$2, $3] = $4; rounds[$3] }
		END { for (round in rounds) print seconds[way, round] / seconds[first, round] }' "$WORK/runs.csv" |
		sort -n | awk '
		{ ratio[NR] = $1 }
		END { printf "%.3f (%.3f to %.3f)", ratio[int((NR + 1) / 2)], ratio[int((NR + 3) / 4)], ratio[int((3 * NR + 3) / 4)] }'
}

main()
{
	local set round way

	start_side cluster "$port"
	export PGPORT=$port
	echo "set,way,round,wall,client_cpu,session_cpu,other_cpu"
	for set in ${sets//,/ }; do
		fill_set "$set"
		for ((round = 1; round <= rounds; round++)); do
			measure_round "$set" "$round"
		done
		dropdb "$set"
	done
	print_heading
	for set in ${sets//,/ }; do
		for way in ${ways//,/ }; do
			printf '%s, %s: %s, %s times the first\n' "$set" "$way" \
				"$(medians "$set" "$way")" "$(ratios "$set" "$way")"
		done
	done
}

for option; do
	case $option in
		--ways=*) ways=${option#*=} ;;
		--results=*) die "unknown option \"$option\"; see --help" ;;
		*) take_option "$option" ;;
	esac
done
begin
main
