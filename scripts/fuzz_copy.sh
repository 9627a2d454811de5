#!/bin/bash
#
# fuzz_copy.sh: run t/125_fast_copy_fuzz.pl, which compares the extension's
# COPY FROM with the server's, on many random tables.
#
# usage: scripts/fuzz_copy.sh [SECONDS [SEED [CASES]]]
#
# SECONDS is 300 by default, SEED random; with CASES, that many are run, however
# long it takes.  Prints the seed, how many cases were loaded by the extension and
# why others were left to the server, and each difference with the seed of its
# case: "scripts/fuzz_copy.sh 0 SEED 1" repeats it.  The exit code is 0 if there
# was no difference.  PG_MAJOR and PG_CONFIG are as in scripts/test.sh, which it
# calls.

set -euo pipefail
. "$(dirname "$0")/common.sh"

case ${1:-} in
	--help | -h) print_help; exit 0 ;;
esac
seconds=${1:-300}
export PG_PARDUMP_SEED=${2:-$((RANDOM * 32768 + RANDOM + 1))}
if [ -n "${3:-}" ]; then
	export PG_PARDUMP_FUZZ_CASES=$3
	log "$3 cases, seed $PG_PARDUMP_SEED"
else
	export PG_PARDUMP_FUZZ_SECONDS=$seconds
	log "$seconds s, seed $PG_PARDUMP_SEED"
fi
export PROVE_TESTS=t/125_fast_copy_fuzz.pl
make_work_directory
# the tests run as another user if root calls
chmod 711 "$WORK"
PG_PARDUMP_FUZZ_REPORT=$WORK/report
export PG_PARDUMP_FUZZ_REPORT
touch "$PG_PARDUMP_FUZZ_REPORT"
chmod 666 "$PG_PARDUMP_FUZZ_REPORT"
status=0
"$TREE/scripts/test.sh" || status=$?
cat "$PG_PARDUMP_FUZZ_REPORT"
exit "$status"
