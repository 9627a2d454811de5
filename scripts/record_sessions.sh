#!/bin/bash
#
# record_sessions.sh: record what users see on terminals.
#
# usage: scripts/record_sessions.sh
#
# Runs t/110_sessions.pl and writes t/data/sessions, to be looked at with "git diff"
# after a change of messages.  PG_MAJOR is as in scripts/test.sh, which it calls.

set -euo pipefail
. "$(dirname "$0")/common.sh"

case ${1:-} in
	--help | -h) print_help; exit 0 ;;
esac
make_work_directory
# the tests run as another user if root calls
chmod 711 "$WORK"
PG_PARDUMP_SESSIONS=$WORK/sessions
export PG_PARDUMP_SESSIONS PROVE_TESTS=t/110_sessions.pl
mkdir -m 777 "$PG_PARDUMP_SESSIONS"
status=0
"$TREE/scripts/test.sh" || status=$?
cp "$PG_PARDUMP_SESSIONS"/*.txt "$TREE/t/data/sessions/"
exit "$status"
