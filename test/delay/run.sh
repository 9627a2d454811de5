#!/bin/bash
#
# run.sh: run the tests on a machine that seems slow, to find tests and
# programs whose result depends on time.
#
# usage: test/delay/run.sh [--delay] [--busy] [COMMAND [ARGUMENT...]]
#
# COMMAND is scripts/test.sh if there is none.  At least one option is needed:
#
#   --delay   preload delay.c, which delays calls that connect, read, write or
#             wait on sockets and pipes, at random, in PostgreSQL's programs,
#             pg_pardump's, the server and Perl.  Prints at the end how many
#             calls it has delayed; none is an error.
#   --busy    keep every core busy with a loop until COMMAND ends
#
# The exit code is COMMAND's.  A test that preloads a library itself, and
# programs that run as another user or on another host (sudo, ssh, Slurm), are
# not delayed.
#
# DELAY_SEED     the seed; random if not set, and printed
# DELAY_ONE_IN   delay one call in this number of calls, 20 if not set
# DELAY_MAX_MS   the longest delay, 50 if not set

set -euo pipefail
. "$(dirname "$0")/../../scripts/common.sh"

CALLS=(connect read recv write send poll ppoll select epoll_wait)
PROGRAMS=(postgres pg_pardump pg_parrestore pg_parbasebackup pg_dump
	pg_dumpall pg_restore psql perl)

# Set COMMAND to itself with the library preloaded.  The tests run as another
# user if root calls.
preload()
{
	local seed=${DELAY_SEED:-$((RANDOM * 32768 + RANDOM + 1))}

	chmod 711 "$WORK"
	"${CC:-cc}" -std=gnu99 -Wall -Werror -O2 -U_FORTIFY_SOURCE -fPIC -shared \
		-o "$WORK/delay.so" "$TREE/test/delay/delay.c" -ldl
	chmod 755 "$WORK/delay.so"
	truncate -s $((8 * ${#CALLS[@]} * ${#PROGRAMS[@]})) "$WORK/counts"
	chmod 666 "$WORK/counts"
	log "delays with DELAY_SEED=$seed"
	COMMAND=(env LD_PRELOAD="$WORK/delay.so" DELAY_SEED="$seed"
		DELAY_PROGRAMS="${PROGRAMS[*]}" DELAY_COUNTS="$WORK/counts" "${COMMAND[@]}")
}

# Print how many calls were delayed, a line for each program.
print_delays()
{
	local row=0 i line
	local counts

	while read -ra counts; do
		line=
		for i in "${!CALLS[@]}"; do
			[ "${counts[i]}" -eq 0 ] || line+=" ${CALLS[i]} ${counts[i]}"
		done
		[ -z "$line" ] || echo "delayed in ${PROGRAMS[row]}:$line"
		row=$((row + 1))
	done < <(od -An -v -t u8 -w$((8 * ${#CALLS[@]})) "$WORK/counts")
}

# A loop ends by itself, too, if this script is ended by force.
start_loops()
{
	local core

	for ((core = 0; core < $(nproc); core++)); do
		while kill -0 $$ 2>/dev/null; do :; done &
		CHILDREN+=($!)
	done
}

delay=no
busy=no
while [ $# -gt 0 ]; do
	case $1 in
		--delay) delay=yes ;;
		--busy) busy=yes ;;
		--help | -h) print_help; exit 0 ;;
		-*) die "unknown option \"$1\"; see --help" ;;
		*) break ;;
	esac
	shift
done
[ "$delay$busy" != nono ] || die "--delay or --busy is needed; see --help"
COMMAND=("$TREE/scripts/test.sh")
[ $# -eq 0 ] || COMMAND=("$@")
make_work_directory
[ "$delay" = no ] || preload
# the command first: clean_up ends children in this order
"${COMMAND[@]}" </dev/null &
CHILDREN+=($!)
[ "$busy" = no ] || start_loops
status=0
wait "${CHILDREN[0]}" || status=$?
unset 'CHILDREN[0]'
if [ "$delay" = yes ]; then
	print_delays >"$WORK/delays"
	[ -s "$WORK/delays" ] || die "no call was delayed"
	cat "$WORK/delays"
fi
exit "$status"
