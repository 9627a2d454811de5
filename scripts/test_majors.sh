#!/bin/bash
#
# test_majors.sh: copy, dump and restore, and move databases from one major of
# PostgreSQL to a newer one, and restore archives of the older pg_dump there, with
# real servers of both.
#
# usage: scripts/test_majors.sh [OLDER:NEWER]...
#
# The pairs are 15:17 and 17:18 if none is given.  Both majors run on the Debian
# release that packages them, here if this is that release, else in roots that
# scripts/chroot.sh keeps: run it as root.  t/majors/older.pl is the one side,
# t/majors/newer.pl the other; they meet at 127.0.0.1.  The newer side's programs
# do it; where its pg_dump is of a minor release too old for the older server,
# what is skipped says so, and the older side's programs do it.  Takes five to
# fifteen minutes a pair.  The last line is "N passed, N failed"; the exit code
# is 0 if nothing failed.

set -euo pipefail
. "$(dirname "$0")/common.sh"

PASSED=0
FAILED=0
OLDER=	# process that runs the older side

# Run a test file on the major $1; its output goes to the file $3.
run_side()
{
	local major=$1 file=$2 output=$3 suite release
	local command=(env PG_MAJOR="$major" PROVE_TESTS="$file" scripts/test.sh)

	for release in $RELEASES; do
		[ "${release%:*}" != "$major" ] || suite=${release#*:}
	done
	[ -n "${suite:-}" ] || die "there is no Debian release for PostgreSQL $major"
	if [ "$suite" != "$(. /etc/os-release && echo "${VERSION_CODENAME:-}")" ]; then
		command=(scripts/chroot.sh "$suite" "${command[@]}")
	fi
	cd "$TREE"
	exec "${command[@]}" >"$output" 2>&1 </dev/null
}

# Descriptors: the older side reads 7, and ends when no process holds the other
# end, 6, any more.  It writes to 8 where its server is, and the newer side reads
# this from 9.
test_pair()
{
	local older=${1%:*} newer=${1#*:} status=0

	log "from PostgreSQL $older to $newer"
	rm -f "$WORK/end" "$WORK/server"
	mkfifo "$WORK/end"
	(umask 077 && touch "$WORK/server")
	run_side "$older" t/majors/older.pl "$WORK/older.out" 7<"$WORK/end" 8>"$WORK/server" &
	OLDER=$!
	exec 6>"$WORK/end"
	until [ -s "$WORK/server" ]; do
		if ! kill -0 "$OLDER" 2>/dev/null; then
			cat "$WORK/older.out" >&2
			die "the server of PostgreSQL $older did not start"
		fi
		sleep 0.5
	done
	run_job run_side "$newer" t/majors/newer.pl "$WORK/newer.out" 6>&- 9<"$WORK/server" || status=$?
	exec 6>&-
	wait "$OLDER" || status=$?
	OLDER=
	count_results "$status"
}

# Add up the last lines of both sides; a side that has none has failed.
count_results()
{
	local side counts

	for side in older newer; do
		cat "$WORK/$side.out"
		counts=$(sed -nE '$s/^([0-9]+) passed, ([0-9]+) failed$/\1 \2/p' "$WORK/$side.out")
		counts=${counts:-0 1}
		PASSED=$((PASSED + ${counts% *}))
		FAILED=$((FAILED + ${counts#* }))
	done
	if [ "$1" -ne 0 ] && [ "$FAILED" -eq 0 ]; then
		FAILED=1
	fi
}

end_older()
{
	if [ -n "$OLDER" ]; then
		kill -TERM "$OLDER" 2>/dev/null || true
		wait "$OLDER" || true
	fi
}

for pair; do
	case $pair in
		--help | -h) print_help; exit 0 ;;
		[1-9]*:[1-9]*) ;;
		*) die "\"$pair\" is not a pair of majors; see --help" ;;
	esac
done
[ "$EUID" -eq 0 ] || die "run this as root"
[ $# -gt 0 ] || set -- 15:17 17:18
"$TREE/scripts/install_dependencies.sh" --chroots
make_work_directory
# shellcheck disable=SC2034 # read by clean_up
ON_EXIT=end_older
for pair; do
	test_pair "$pair"
done
echo "$PASSED passed, $FAILED failed"
[ "$FAILED" -eq 0 ]
