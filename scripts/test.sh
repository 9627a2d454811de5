#!/bin/bash
#
# test.sh: run pg_pardump's tests on throwaway clusters.
#
# usage: scripts/test.sh [--tree | --quick | --change | --all [--long] | --coverage]
#
# Without an option it runs the whole suite on one major: it installs missing
# packages, builds with -Werror into a temporary installation, and runs the unit
# tests, pg_regress and the TAP tests.  Root or sudo is needed only to install;
# when root calls it, the tests run as the user postgres.  At the end it lists
# the slowest test files, and the skipped tests with the reasons.  The last line
# is "N passed, N failed"; the exit code is 0 if no test failed.
#
#   --tree  run only the unit tests, pg_regress and the checks of the source tree,
#           with the object files of the checkout; "make quick" builds these
#   --quick run about 30 TAP files, of each decade some, and the unit tests and
#           pg_regress
#   --change
#           check a change: the whole suite on one major, --quick on the others,
#           and the TAP files that cover the changed folders on all of them; see
#           scripts/change.sh
#   --all   run the whole suite with all its settings on PostgreSQL 15, 17 and 18,
#           each on the Debian release that packages it, in roots that
#           scripts/chroot.sh keeps (root or sudo)
#   --long  with --all, run fuzzers, random faults and tests under load for long, and
#           run on the next major, 19, too, from Debian's suite experimental
#   --coverage
#           report which lines each part of the suite runs (gcov; unoptimized), and
#           every message that no test has seen.  It is an error if --quick runs
#           less than 80 % of the lines that the whole suite runs, or if the
#           functions that only the whole suite runs are not those in
#           t/data/whole_suite_only.txt, which is the list of PostgreSQL 15.
#
# PG_MAJOR            the major to test on, if not the newest installed
# PG_CONFIG           that of a server built from source to test on instead; see
#                     scripts/temp_install.sh
# PG_PARDUMP_REGRESS  a directory that scripts/regress_source.sh made, to use it again
# PG_PARDUMP_RELEASES the releases that --all and --change run on, e.g.
#                     "15:bookworm 19:experimental"
# PG_PARDUMP_TURN     a number that selects the major of the whole suite in
#                     --change, modulo the number of majors
# PG_PARDUMP_BASE     the commit that --change compares with
# PG_PARDUMP_TREE_CHECKED
#                     if set, another run checks this source tree, so that --quick
#                     leaves out what has the same result on each major
# PROVE_TESTS         TAP files to run instead of all tests, e.g.
#                     t/010_round_trip.pl; with --quick, to run in addition
# PROVE_JOBS          TAP files to run at a time; the default is one more than the
#                     machine has cores, at most 8

set -euo pipefail
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/cluster.sh"
. "$(dirname "$0")/change.sh"

PASSED=0
FAILED=0
SKIPPED=0
JOB_MB=3500	# memory for the files of a test file: the largest need 3,000
SKIP_NOTE=	# what the tests cannot know of why they are skipped

# The checks of the source tree, which need no build.
TREE_TESTS="t/005_manual.pl t/006_release.pl t/007_indent.pl t/008_house.pl t/009_error_messages.pl"

# Most of these have the same result on each major, so --change runs them on that of the
# whole suite alone.
if [ -n "${PG_PARDUMP_TREE_CHECKED:-}" ]; then
	QUICK_TESTS="t/005_manual.pl t/007_indent.pl"
else
	QUICK_TESTS=$TREE_TESTS
fi

# What --quick runs: files of each decade, chosen by the lines that they run.
QUICK_TESTS+="
	t/001_options.pl t/002_refusals.pl t/010_round_trip.pl t/020_restore_modes.pl
	t/030_snapshot.pl t/031_definitions.pl t/043_lost_connections.pl t/053_owners.pl
	t/060_reader.pl t/064_extension.pl t/071_verify.pl t/074_pipe.pl t/080_copy.pl
	t/081_copy_modes.pl t/090_slot.pl t/100_dry_run.pl t/120_fast_copy.pl t/130_raw_tuples.pl
	t/140_parrestore.pl t/146_resume.pl t/162_incremental.pl t/170_basebackup.pl
	t/175_backup_tar.pl t/180_tasks.pl t/185_compare_command.pl
	t/187_all_databases.pl t/188_backup.pl t/190_fast_index.pl"

# The TAP files that take longest, which begin first: a long one that began last would
# keep one processor busy, and the others idle.
LONG_TESTS="t/195_cluster_snapshot_faults.pl t/109_server_log.pl t/010_round_trip_regression.pl
	t/188_backup_store_faults.pl t/172_backup_rewritten.pl t/060_reader.pl t/010_round_trip.pl
	t/081_copy_modes.pl t/011_settings.pl t/141_parrestore_options.pl t/044_network.pl
	t/073_fuzz.pl t/183_also_from.pl t/152_resume_large_objects.pl t/110_sessions.pl
	t/188_backup_store.pl t/185_compare_command.pl t/195_cluster_snapshot_load.pl
	t/182_slurm.pl t/146_resume.pl t/005_manual.pl"

# What --long gives the fuzzers, the random faults and the tests under load to do.
LONG="PG_PARDUMP_FUZZ_TABLES=10000 PG_PARDUMP_FUZZ_SECONDS=300
	PG_PARDUMP_DECODER_ROUNDS=300000 PG_PARDUMP_FAULT_ROUNDS=100
	PG_PARDUMP_FINGERPRINT_ROUNDS=100 PG_PARDUMP_RAW_ROUNDS=20000
	PG_PARDUMP_ALSO_ROUNDS=30 PG_PARDUMP_FUZZER_SECONDS=30 PG_PARDUMP_INDEX_CASES=2000
	PG_PARDUMP_CLUSTER_ROUNDS=200"

# The lines that show the progress of the tests: pg_regress's result for each
# test, prove's file names, its verdicts, and tests that failed or were skipped.
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
	# a run with --coverage has two logs
	names=$(cat "$WORK/quick.log" "$WORK/tap.log" 2>/dev/null |
		sed -nE 's,^t/(.*/)?([^ ]*)[.]pl +[(]Wstat:.*,\2,p' | sort -u || true)
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

# The TAP files that took longest: the time between a line of a file's log and
# the next is in the log.  If the build failed, there are no logs.
print_slowest()
{
	echo "=== slowest test files"
	awk -F '[][()]+' '
		FNR == 1 { file = FILENAME; sub(/.*regress_log_/, "", file) }
		/^\[[0-9:.]+\]\([0-9.]+s\) / { seconds[file] += $3 }
		END { for (file in seconds) printf "%4d s %s\n", seconds[file], file }' \
		"$WORK/build/src/tmp_check/log"/regress_log_* 2>/dev/null | sort -rn | sed 10q || true
}

# Have gcov read the counters that programs and server have left next to the
# object files, and write one line for each line of code and each function:
#     line|function <TAB> file <TAB> number|name <TAB> times <TAB> source text
count_runs()
{
	cd "$WORK/build/src"
	gcov --preserve-paths --relative-only --branch-probabilities src/*/*.gcno src/*/*/*.gcno >"$WORK/gcov.log" 2>&1 ||
		{ tail "$WORK/gcov.log"; die "gcov failed"; }
	awk -v OFS='\t' '
		FNR == 1 { file = FILENAME; gsub("#", "/", file); gsub("^[.]/|[.]gcov$", "", file) }
		/^function / { print "function", file, $2, $4, ""; next }
		/^(branch|call|unconditional) / { next }
		{
			split($0, field, ":")
			times = field[1]
			gsub(/[ *]/, "", times)
			if (times == "-" || field[2] + 0 == 0)
				next
			text = $0
			sub("^[^:]*:[^:]*:[ \t]*", "", text)
			print "line", file, field[2] + 0, times ~ /^[#=]/ ? 0 : times, text
		}' ./*.gcov
}

# What the whole suite has run ($2), as count_runs prints it, and how much of
# that --quick has ($1).
print_coverage()
{
	local quick=$1 whole=$2 expected=$TREE/t/data/whole_suite_only.txt

	awk -F '\t' '
		function share(file) { return 100 * ran[file] / lines[file] }
		$1 != "line" { next }
		{ lines[$2]++; lines["total"]++ }
		$4 != "0" { ran[$2]++; ran["total"]++; next }
		$5 ~ /(pg_fatal[a-z_]*|pg_log_[a-z_]+|verify_finding|ereport|elog|errmsg) ?[(]/ {
			unseen[n++] = sprintf("%s:%d: %s", $2, $3, $5)
		}
		END {
			for (file in lines)
				if (file != "total")
					printf "%5.1f %% of %5d lines  %s\n", share(file), lines[file], file | "sort -k6"
			close("sort -k6")
			printf "%5.1f %% of %5d lines  in total\n", share("total"), lines["total"]
			for (i = 0; i < n; i++)
				print "not seen: " unseen[i]
		}' "$whole"
	awk -F '\t' '
		$1 == "function" && $4 != "0" {
			if (FILENAME == ARGV[1])
				quick[$2 " " $3]
			else if (!($2 " " $3 in quick))
				print $2, $3
		}' "$quick" "$whole" | sort -u >"$WORK/whole_suite_only.txt"
	if ! diff -uN --label a/t/data/whole_suite_only.txt --label b/t/data/whole_suite_only.txt \
		"$expected" "$WORK/whole_suite_only.txt"; then
		log "other functions than those in t/data/whole_suite_only.txt are run only by the whole suite; \"git apply\" accepts this change of the file"
		FAILED=$((FAILED + 1))
	fi
	awk -F '\t' '
		$1 == "line" && $4 != "0" { if (FILENAME == ARGV[1]) quick++; else whole++ }
		END {
			printf "--quick runs %.1f %% of the %d lines that the whole suite runs\n", 100 * quick / whole, whole
			exit quick < 0.8 * whole
		}' "$quick" "$whole" || FAILED=$((FAILED + 1))
}

# Work in memory where there is enough of it: the tests make and remove files by
# the hundred thousand, which takes a disk's file system an eighth of their
# time.  A file there must be allowed to be run, too.
use_memory()
{
	local dir=/dev/shm
	local free need=$((PROVE_JOBS * JOB_MB * 1024))

	if [ -n "${TMPDIR:-}" ] || [ "$(stat -f -c %T "$dir" 2>/dev/null)" != tmpfs ]; then
		return
	fi
	free=$(df --output=avail -k "$dir" | tail -n 1)
	if [ "$free" -ge "$need" ] &&
		[ "$(sed -nE 's/^MemAvailable: +([0-9]+) kB/\1/p' /proc/meminfo)" -ge "$need" ] &&
		! findmnt -n -o OPTIONS "$dir" | grep -qw noexec; then
		export TMPDIR=$dir
	fi
}

# Do the TAP files $1 use the database of PostgreSQL's regression tests?  To
# unpack its sources takes longer than most test files run.
uses_regression()
{
	# shellcheck disable=SC2086 # file names separated by blanks
	(cd "$TREE" && grep -qE 'regress(ion|_dir)\b' $1)
}

# Run the TAP files $2, separated by blanks, with the log's name $1.
run_tap()
{
	if [ -z "${PG_PARDUMP_REGRESS:-}" ] && uses_regression "$2"; then
		fetch_regression
	fi
	run_tests "$1" installcheck REGRESS= PROVE_TESTS="$2" \
		PROVE_FLAGS="--verbose --jobs=$PROVE_JOBS"
}

fetch_regression()
{
	local status=0

	run_job "$TREE/scripts/regress_source.sh" "$major" "$WORK/regress" || status=$?
	case $status in
		0) export PG_PARDUMP_REGRESS=$WORK/regress ;;
		77) SKIP_NOTE="PG_PARDUMP_REGRESS is not set: no sources of PostgreSQL $major, which is not released" ;;
		*) exit "$status" ;;
	esac
}

# The TAP files that a run with the option $1 runs, in the order in which they begin.
tap_files()
{
	local file files

	case $1 in
		--tree) files=$TREE_TESTS ;;
		--quick) files="$QUICK_TESTS ${PROVE_TESTS:-}" ;;
		*) files=${PROVE_TESTS:-$(cd "$TREE" && echo t/*.pl)} ;;
	esac
	# shellcheck disable=SC2086 # file names separated by blanks
	files=$(printf '%s\n' $files | sort -u)
	for file in $LONG_TESTS; do
		grep -xF "$file" <<<"$files" || true
	done | cat - <(echo "$files") | awk 'NF && !seen[$0]++' | tr '\n' ' '
}

test_one()
{
	local major bindir files

	major=$(pg_major)
	export PG_MAJOR=$major
	files=$(tap_files "$mode")
	# What a test leaves behind when it is killed goes with the rest.
	export TMPDIR=$WORK/tmp
	mkdir "$TMPDIR"
	if [ "$mode" = --coverage ]; then
		export COPT="--coverage -O0 -U_FORTIFY_SOURCE -include $TREE/test/coverage.h"
	fi
	run_job "$TREE/scripts/temp_install.sh" "$WORK/build" >"$WORK/bindir"
	bindir=$(cat "$WORK/bindir")
	if [ -z "${PROVE_TESTS:-}" ] || [ "$mode" = --quick ]; then
		run_tests units check-units
		start_cluster "$bindir" "fsync = off" "autovacuum = on"
		run_tests regress installcheck TAP_TESTS=
	fi
	if [ "$mode" = --coverage ]; then
		PG_PARDUMP_TIER=1 run_tap quick "$(tap_files --quick)"
		count_runs >"$WORK/quick.runs"
	fi
	run_tap tap "$files"
	if [ "$FAILED" -gt 0 ]; then
		print_failure_logs
	fi
	if [ "$mode" = --coverage ]; then
		count_runs >"$WORK/whole.runs"
		print_coverage "$WORK/quick.runs" "$WORK/whole.runs"
	fi
	print_slowest
	print_skipped
	echo "PostgreSQL $("$bindir/pg_config" --version | sed 's/^PostgreSQL //'):" \
		"$PASSED passed, $FAILED failed, $SKIPPED skipped, in $SECONDS s"
}

# Run this script with the option $3 for the major $1 of the Debian release $2:
# here if this is that release, else in a root.  Its output goes to the file $4
# too.
run_release()
{
	local major=$1 suite=$2 option=$3 output=$4
	local status=0
	local sudo=()
	# shellcheck disable=SC2206 # none, or several words
	local variables=(PG_MAJOR="$major" PG_PARDUMP_TIER="${PG_PARDUMP_TIER:-}"
		PROVE_TESTS="${PROVE_TESTS:-}" PROVE_JOBS="$PROVE_JOBS" ${long:+$LONG}
		${tree_checked:+PG_PARDUMP_TREE_CHECKED=yes})
	local command=(env "${variables[@]}" scripts/test.sh ${option:+"$option"})

	if [ "$EUID" -ne 0 ]; then
		sudo=(sudo --)
	fi
	if [ "$suite" != "$(. /etc/os-release && echo "${VERSION_CODENAME:-}")" ]; then
		command=("${sudo[@]}" env PG_PARDUMP_CHROOTS="${PG_PARDUMP_CHROOTS:-}" MIRROR="${MIRROR:-}"
			scripts/chroot.sh "$suite" "${command[@]}")
	fi
	cd "$TREE"
	start_script "$output" "$major" "${command[@]}"
	wait "${CHILDREN[0]}" || status=$?
	wait "${FOLLOWERS[0]}" || true
	CHILDREN=()
	FOLLOWERS=()
	count_release "$major" "$output" "$status"
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

# The majors of $RELEASES, one after the other, as each fills the machine: the
# whole suite, or with --change --quick where plan_change says so.
test_releases()
{
	local release option tree_checked

	[ "$mode" = --all ] || plan_change
	"$TREE/scripts/install_dependencies.sh" --chroots
	as_root true	# asks for a password while nothing else runs
	make_work_directory
	for release in $RELEASES; do
		option=
		tree_checked=
		if [ "$mode" = --change ]; then
			PROVE_TESTS=
			if [ "${release%:*}" != "$CHANGE_WHOLE" ]; then
				option=--quick
				tree_checked=yes
				PROVE_TESTS=$CHANGE_TESTS
			fi
		fi
		run_release "${release%:*}" "${release#*:}" "$option" "$WORK/$release.out"
	done
	grep -h '^PostgreSQL .* passed, ' "$WORK"/*.out || true
	[ "$mode" = --all ] || print_change
}

mode=
long=
for option; do
	case $option in
		--tree | --quick | --change | --all | --coverage)
			[ -z "$mode" ] || die "$mode and $option exclude each other"
			mode=$option
			;;
		--long) long=yes ;;
		--help | -h) print_help; exit 0 ;;
		*) die "unknown option \"$option\"; see --help" ;;
	esac
done
[ -z "$long" ] || [ "$mode" = --all ] || die "--long needs --all"
if [ -z "${PROVE_JOBS:-}" ]; then
	PROVE_JOBS=$(($(nproc) + 1))
	[ "$PROVE_JOBS" -le 8 ] || PROVE_JOBS=8
fi
case $mode in
	--all | --change)
		unset PG_CONFIG
		if [ "$mode" = --all ]; then
			export PG_PARDUMP_TIER=3
			if [ -n "$long" ] && [[ " $RELEASES " != *" $NEXT_RELEASE "* ]]; then
				RELEASES+=" $NEXT_RELEASE"
			fi
		fi
		test_releases
		;;
	*)
		if [ "$mode" = --quick ]; then
			export PG_PARDUMP_TIER=1
		elif [ "$mode" = --coverage ]; then
			export PG_PARDUMP_TIER=3
		elif [ -z "${PG_PARDUMP_TIER:-}" ]; then
			export PG_PARDUMP_TIER=2
		fi
		if [ "$mode" = --tree ]; then
			export PG_PARDUMP_OBJECTS=keep
		fi
		use_memory
		prepare "$@"
		test_one
		;;
esac
echo "$PASSED passed, $FAILED failed"
[ "$FAILED" -eq 0 ]
