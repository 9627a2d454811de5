#!/bin/bash
#
# test.sh: run all of pg_pardump's tests on throwaway clusters.
#
# usage: scripts/test.sh [--all | --coverage]
#
# Installs what is missing, builds with -Werror into a temporary installation,
# and runs the tests that need no server, pg_regress and the TAP tests there.  Root or sudo is needed only to
# install; called by root, the tests run as the user postgres.  At the end it
# lists what was skipped, and why.  The last line is "N passed, N failed"; the
# exit code is 0 if nothing failed.
#
#   --all   run on PostgreSQL 15, 17 and 18 side by side, each on the Debian
#           release that packages it, in roots that scripts/chroot.sh keeps
#           (root or sudo)
#   --coverage
#           print too which share of each file's lines the tests have run, and
#           every message that none of them has seen (gcov; unoptimized)
#
# PG_MAJOR            the major to test on, if not the newest installed
# PG_CONFIG           that of a server built from source to test on instead; see
#                     scripts/temp_install.sh
# PG_PARDUMP_REGRESS  what scripts/regress_source.sh has made, if it is there
# PG_PARDUMP_RELEASES what --all runs on instead, e.g. "15:bookworm 19:experimental"
# PROVE_TESTS         TAP files to run instead of all tests, e.g.
#                     t/010_round_trip.pl
# PROVE_JOBS          TAP files to run at a time, 1 if not set

set -euo pipefail
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/cluster.sh"

PASSED=0
FAILED=0
SKIPPED=0
MEMORY_MB=11000	# that must be free: three majors at a time took 8,700
SKIP_NOTE=	# what the tests cannot know of why they are skipped

# The lines that tell how far the tests are: pg_regress's result for each
# test, prove's file names, its verdicts, and whatever failed or was skipped.
PROGRESS='/^(t\/.*[.][.]+ *$|test .*[.][.][.]|ok$|not ok|Failed|Dubious|Result:)|^ok [0-9]+ .* ms$|^ok .* # SKIP|skipped:/Ip'

# Count the results in the log $1 of pg_regress (both of its forms, that of 15
# and TAP), of prove --verbose, or of a program that writes TAP.
count_results()
{
	local log=$1
	local counts

	counts=$(awk '
		/^(test)? +[^ ]+ +[.][.][.] ok/ { passed++; next }
		/^(test)? +[^ ]+ +[.][.][.] FAILED/ { failed++; next }
		/^(not )?ok [0-9]+.*# *([Ss][Kk][Ii][Pp]|TODO)/ { skipped++; next }
		/^ok [0-9]+/ { passed++; next }
		/^not ok [0-9]+/ { failed++; next }
		# A test program that ended badly though no test of it failed.
		/[(]Wstat: .*Failed: 0[)]/ { failed++; next }
		# A whole test file that was skipped; one that died before its first
		# test gives no reason, and was counted as failed.
		/[.][.] skipped: [(]no reason given[)]/ { next }
		/[.][.] skipped: / { skipped++; next }
		END { print passed + 0, failed + 0, skipped + 0 }' "$log")
	read -r passed failed skipped <<<"$counts"
}

# Run make with the target and the arguments given, for one kind of test.  Its
# log goes to $WORK/$1.log.
run_tests()
{
	local log=$WORK/$1.log
	local status=0
	local passed failed skipped

	shift
	# shellcheck disable=SC2016 # expanded by the shell it is handed to
	run_job bash -c 'set -o pipefail; log=$1 progress=$2; shift 2
		"$@" 2>&1 | tee "$log" | sed -Eun "$progress"' bash "$log" "$PROGRESS" \
		make -C "$WORK/build/src" --no-print-directory \
		PG_CONFIG="$bindir/pg_config" COPT="${COPT:--Werror}" "$@" || status=$?
	count_results "$log"
	if [ "$status" -ne 0 ] && [ "$failed" -eq 0 ]; then
		failed=1
	fi
	if [ $((passed + failed)) -eq 0 ]; then
		log "no test ran; a check that ran nothing has failed"
		failed=1
	fi
	if [ "$failed" -gt 0 ]; then
		echo "=== end of $(basename "$log")"
		tail -n 40 "$log"
	fi
	PASSED=$((PASSED + passed))
	FAILED=$((FAILED + failed))
	SKIPPED=$((SKIPPED + skipped))
}

# What the tests wrote down: pg_regress's differences, of each TAP file that
# failed its own log and those of its servers, and at the end, as that is where
# one looks first, what each failed test said.
print_failure_logs()
{
	local source=$WORK/build/src
	local name names file

	if [ -s "$source/regression.diffs" ]; then
		echo "=== regression.diffs"
		head -n 200 "$source/regression.diffs"
	fi
	names=$(sed -nE 's,^t/(.*/)?([^ ]*)[.]pl +[(]Wstat:.*,\2,p' "$WORK/tap.log" | sort -u)
	for name in $names; do
		echo "=== end of regress_log_$name"
		tail -n 60 "$source/tmp_check/log/regress_log_$name" || true
		for file in "$source/tmp_check/log/$name"_*.log; do
			[ -e "$file" ] || continue	# it had no server
			echo "=== end of $(basename "$file")"
			tail -n 30 "$file" || true
		done
	done
	echo "=== failed tests"
	grep -hE '[.]{3} FAILED|^not ok' "$WORK"/{units,regress}.log 2>/dev/null || true
	for name in $names; do
		# [time](seconds) not ok, then # and its diagnostics; a test that has
		# none of these has died, and its servers were stopped then
		grep -vE '^#+ (No postmaster PID for node|Postmaster PID for node|Stopping node|Running: pg_ctl .* stop$)|^waiting for server to shut down|^server stopped$' \
			"$source/tmp_check/log/regress_log_$name" | awk -v name="$name" '
			{ last[NR % 10] = $0 }
			/^\[[0-9:.]+\]\([0-9.]+s\) / {
				show = /s\) not ok / || (show && /s\) (#|$)/)
				sub(/^[^ ]* /, name ": ")
			}
			show { print; shown = 1 }
			END {
				for (i = NR + 1; !shown && i <= NR + 10; i++)
					print name ": " last[i % 10]
			}' | head -n 100 || true
	done
}

# What was skipped, and why: each file and reason once, with its count.
print_skipped()
{
	if [ "$SKIPPED" -eq 0 ]; then
		return
	fi
	echo "=== skipped"
	awk '
		/^t\/[^ ]+ [.]+ / { file = $1 }
		/[.][.] skipped: [(]no reason given[)]/ { next }
		/[.][.] skipped: / { sub(/.* skipped: /, ""); skipped[file " as a whole: " $0]++; next }
		/^(not )?ok [0-9]+.*# *([Ss][Kk][Ii][Pp]|TODO)/ {
			sub(/.*# *([Ss][Kk][Ii][Pp] *)?/, "")
			skipped[file ": " $0]++
		}
		END { for (what in skipped) printf "%3d in %s\n", skipped[what], what | "sort -k3" }' "$WORK/tap.log"
	if [ -n "$SKIP_NOTE" ]; then
		echo "$SKIP_NOTE"
	fi
}

# By gcov, which reads what the programs and the server have left beside the
# object files.
print_coverage()
{
	cd "$WORK/build/src"
	gcov --preserve-paths --relative-only src/*/*.gcno src/*/*/*.gcno >"$WORK/gcov.log" 2>&1 ||
		{ tail "$WORK/gcov.log"; die "gcov failed"; }
	awk -F: '
		function share(file) { return 100 * ran[file] / lines[file] }
		FNR == 1 { file = FILENAME; gsub("#", "/", file); gsub("^[.]/|[.]gcov$", "", file) }
		$1 ~ /^ *-$/ { next }
		{ lines[file]++; lines["total"]++ }
		$1 !~ /^ *[#=]/ { ran[file]++; ran["total"]++; next }
		/(pg_fatal|pg_log_[a-z_]+|verify_finding|ereport|elog|errmsg) ?[(]/ {
			text = $0
			sub("^[^:]*:[^:]*:[ \t]*", "", text)
			unseen[n++] = sprintf("%s:%d: %s", file, $2, text)
		}
		END {
			for (file in lines)
				if (file != "total")
					printf "%5.1f %% of %5d lines  %s\n", share(file), lines[file], file | "sort -k6"
			close("sort -k6")
			printf "%5.1f %% of %5d lines  in total\n", share("total"), lines["total"]
			for (i = 0; i < n; i++)
				print "not seen: " unseen[i]
		}' ./*.gcov
}

# Work in memory where there is enough of it: the tests make and remove files by
# the hundred thousand, which takes a disk's file system an eighth of their
# time.  A file there must be allowed to be run, too.
use_memory()
{
	local dir=/dev/shm
	local free

	if [ -n "${TMPDIR:-}" ] || [ "$(stat -f -c %T "$dir" 2>/dev/null)" != tmpfs ]; then
		return
	fi
	free=$(df --output=avail -k "$dir" | tail -n 1)
	if [ "$free" -ge $((MEMORY_MB * 1024)) ] &&
		[ "$(sed -nE 's/^MemAvailable: +([0-9]+) kB/\1/p' /proc/meminfo)" -ge $((MEMORY_MB * 1024)) ] &&
		! findmnt -n -o OPTIONS "$dir" | grep -qw noexec; then
		export TMPDIR=$dir
	fi
}

# Do the tests that are run use the database of PostgreSQL's regression tests?
# Its sources take longer to unpack than most test files run.
uses_regression()
{
	# shellcheck disable=SC2086 # file names with blanks between them
	[ -z "${PROVE_TESTS:-}" ] || (cd "$TREE" && grep -qE 'regress(ion|_dir)\b' $PROVE_TESTS)
}

test_one()
{
	local major bindir
	local status=0

	major=$(pg_major)
	export PG_MAJOR=$major
	# What a test leaves behind when it is killed goes with the rest.
	export TMPDIR=$WORK/tmp
	mkdir "$TMPDIR"
	if [ "$coverage" = yes ]; then
		export COPT="--coverage -O0 -U_FORTIFY_SOURCE -include $TREE/test/coverage.h"
	fi
	run_job "$TREE/scripts/temp_install.sh" "$WORK/build" >"$WORK/bindir"
	bindir=$(cat "$WORK/bindir")
	if [ -z "${PG_PARDUMP_REGRESS:-}" ] && uses_regression; then
		run_job "$TREE/scripts/regress_source.sh" "$major" "$WORK/regress" || status=$?
		case $status in
			0) export PG_PARDUMP_REGRESS=$WORK/regress ;;
			77) SKIP_NOTE="PG_PARDUMP_REGRESS is not set: no sources of PostgreSQL $major, which is not released" ;;
			*) exit "$status" ;;
		esac
	fi
	if [ -z "${PROVE_TESTS:-}" ]; then
		run_tests units check-units
		start_cluster "$bindir" "fsync = off" "autovacuum = on"
		run_tests regress installcheck TAP_TESTS=
	fi
	run_tests tap installcheck REGRESS= PROVE_FLAGS="--verbose --jobs=${PROVE_JOBS:-1}"
	if [ "$FAILED" -gt 0 ]; then
		print_failure_logs
	fi
	if [ "$coverage" = yes ]; then
		print_coverage
	fi
	print_skipped
	echo "PostgreSQL $("$bindir/pg_config" --version | sed 's/^PostgreSQL //'):" \
		"$PASSED passed, $FAILED failed, $SKIPPED skipped, in $SECONDS s"
}

# Start this script for the major $1 of the Debian release $2: here if this is
# that release, else in a root.  Its output goes to the file $3 too.
start_release()
{
	local major=$1 suite=$2 output=$3
	local sudo=()

	if [ "$suite" = "$(. /etc/os-release && echo "${VERSION_CODENAME:-}")" ]; then
		start_script "$output" "$major" env PG_MAJOR="$major" "$TREE/scripts/test.sh"
		return
	fi
	if [ "$EUID" -ne 0 ]; then
		sudo=(sudo --)
	fi
	start_script "$output" "$major" "${sudo[@]}" \
		env PG_PARDUMP_CHROOTS="${PG_PARDUMP_CHROOTS:-}" MIRROR="${MIRROR:-}" \
		"$TREE/scripts/chroot.sh" "$suite" \
		env PG_MAJOR="$major" PROVE_TESTS="${PROVE_TESTS:-}" PROVE_JOBS="${PROVE_JOBS:-}" scripts/test.sh
}

# Add what the major $1 printed to the file $2 to the counts; it ended with the
# exit code $3.
count_release()
{
	local major=$1 output=$2 status=$3
	local counts

	sed -nE '/^=== (failed tests|skipped)$/,/^PostgreSQL /p' "$output" | grep -v '^PostgreSQL ' |
		sed "s/^/$major: /" || true
	counts=$(sed -nE '$s/^([0-9]+) passed, ([0-9]+) failed$/\1 \2/p' "$output")
	if [ -z "$counts" ]; then
		log "the tests on PostgreSQL $major did not come to their end"
		counts="0 1"
	elif [ "$status" -ne 0 ] && [ "${counts#* }" -eq 0 ]; then
		log "the tests on PostgreSQL $major ended with exit code $status"
		counts="${counts% *} 1"
	fi
	PASSED=$((PASSED + ${counts% *}))
	FAILED=$((FAILED + ${counts#* }))
}

# Every major, side by side: a test waits more than it works.
test_all()
{
	local releases release i status

	"$TREE/scripts/install_dependencies.sh" --chroots
	as_root true	# asks for a password while nothing else runs
	make_work_directory
	read -ra releases <<<"$RELEASES"
	for release in "${releases[@]}"; do
		start_release "${release%:*}" "${release#*:}" "$WORK/$release.out"
	done
	for i in "${!releases[@]}"; do
		status=0
		wait "${CHILDREN[i]}" || status=$?
		wait "${FOLLOWERS[i]}" || true
		unset "CHILDREN[i]" "FOLLOWERS[i]"
		release=${releases[i]}
		count_release "${release%:*}" "$WORK/$release.out" "$status"
	done
	grep -h '^PostgreSQL .* passed, ' "$WORK"/*.out || true
}

all=no
coverage=no
for option; do
	case $option in
		--all) all=yes ;;
		--coverage) coverage=yes ;;
		--help | -h) print_help; exit 0 ;;
		*) die "unknown option \"$option\"; see --help" ;;
	esac
done
if [ "$all" = yes ]; then
	unset PG_CONFIG
	test_all
else
	use_memory
	prepare "$@"
	test_one
fi
echo "$PASSED passed, $FAILED failed"
[ "$FAILED" -eq 0 ]
