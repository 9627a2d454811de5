#!/bin/bash
#
# fuzz_pages.sh: run t/067_fuzz_pages.pl, the fuzz of damaged pages, on many
# tables.
#
# usage: scripts/fuzz_pages.sh [TABLES [SEED]]
#
# TABLES is 10000 by default, which takes some 20 minutes, SEED random.  Prints
# the seed, what the planner, the reader and COPY made of how many tables, each
# table that a function of the server itself made different, and each failure;
# the exit code is 0 if there was none.  PG_MAJOR and PG_CONFIG are as in
# scripts/test.sh, which it calls.

set -euo pipefail
. "$(dirname "$0")/common.sh"

case ${1:-} in
	--help | -h) print_help; exit 0 ;;
esac
export PG_PARDUMP_FUZZ_TABLES=${1:-10000}
export PG_PARDUMP_SEED=${2:-$((RANDOM * 32768 + RANDOM + 1))}
export PROVE_TESTS=t/067_fuzz_pages.pl
make_work_directory
# the tests run as another user if root calls
chmod 711 "$WORK"
PG_PARDUMP_FUZZ_REPORT=$WORK/report
export PG_PARDUMP_FUZZ_REPORT
touch "$PG_PARDUMP_FUZZ_REPORT"
chmod 666 "$PG_PARDUMP_FUZZ_REPORT"
log "$PG_PARDUMP_FUZZ_TABLES tables, seed $PG_PARDUMP_SEED"
status=0
"$TREE/scripts/test.sh" || status=$?
cat "$PG_PARDUMP_FUZZ_REPORT"
exit "$status"
