#!/bin/bash
#
# random_faults.sh: run many rounds of t/045_random_faults.pl, of
# t/150_restore_faults.pl and of t/173_backup_random_faults.pl.
#
# usage: scripts/random_faults.sh [ROUNDS [SEED]]
#
# ROUNDS is 100 by default, of each, SEED random.  Prints the seed and how many
# rounds survived, failed cleanly, or were wrong; the exit code is 0 if none was.
# PG_MAJOR is as in scripts/test.sh, which it calls.

set -euo pipefail
. "$(dirname "$0")/common.sh"

case ${1:-} in
	--help | -h) print_help; exit 0 ;;
esac
export PG_PARDUMP_FAULT_ROUNDS=${1:-100}
export PG_PARDUMP_SEED=${2:-$((RANDOM * 32768 + RANDOM + 1))}
export PROVE_TESTS="t/045_random_faults.pl t/150_restore_faults.pl t/173_backup_random_faults.pl"
make_work_directory
# the tests run as another user if root calls
chmod 711 "$WORK"
PG_PARDUMP_FAULT_REPORT=$WORK/report
export PG_PARDUMP_FAULT_REPORT
touch "$PG_PARDUMP_FAULT_REPORT"
chmod 666 "$PG_PARDUMP_FAULT_REPORT"
log "$PG_PARDUMP_FAULT_ROUNDS rounds, seed $PG_PARDUMP_SEED"
status=0
"$TREE/scripts/test.sh" || status=$?
cat "$PG_PARDUMP_FAULT_REPORT"
exit "$status"
