#!/bin/bash
#
# restore_test.sh: run pg_pardump_backup --restore-test as root, on the running
# server, whose owner is postgres.
#
# usage: test/packages/restore_test.sh
#
# Makes a database, a backup and a user without other files.  The programs are
# those in PATH.  DRILL_USER names an existing user to use instead.

set -euo pipefail
. "$(dirname "$0")/common.sh"

# The processes of the user, without those that have ended and were not waited for.
list_processes()
{
	find /proc -maxdepth 1 -user "$user" -printf '%p/status\n' 2>/dev/null |
		xargs --no-run-if-empty grep -Ls '^State:.Z' || true
}

# Run --restore-test with more lines of configuration.  Expects an exit code, a pattern
# of its output, and that neither a process nor a file of the test remains.
expect()
{
	local what=$1 code=$2 pattern=$3 status=0

	shift 3
	printf '%s\n' "directory = $WORK/backups" "drill_directory = $WORK/drill" "$@" >"$WORK/test.conf"
	pg_pardump_backup --restore-test "$WORK/test.conf" >"$WORK/output" 2>&1 </dev/null || status=$?
	if [ "$status" != "$code" ] || ! grep -Eqz "$pattern" "$WORK/output"; then
		cat "$WORK/output" >&2
		die "$what: exit code $status, and not $code with \"$pattern\""
	fi
	if [ -n "$(ls -A "$WORK/drill")" ]; then
		die "$what: files remain in $WORK/drill"
	fi
	if list_processes | grep -Fvxq "/proc/${remains:-}/status"; then
		die "$what: processes of $user remain"
	fi
	log "restore test, $what: $(tail -n 1 "$WORK/output")"
}

make_work_directory
chmod 755 "$WORK"
user=${DRILL_USER:-pgdrill}
id "$user" >/dev/null 2>&1 || quietly useradd --system --no-create-home --shell /usr/sbin/nologin "$user"
install -d -m 700 -o postgres -g postgres "$WORK/backups"
mkdir "$WORK/drill"
run_sql "CREATE ROLE drill_app"
run_sql "CREATE DATABASE drill_source"
run_sql "CREATE TABLE public.t (id int PRIMARY KEY, n int)" drill_source
run_sql "INSERT INTO public.t SELECT g, g FROM generate_series(1, 100000) g" drill_source
run_sql "ALTER TABLE public.t OWNER TO drill_app" drill_source

# what a restore runs as a superuser
touch "$WORK/drill_ran"
chmod 666 "$WORK/drill_ran"
cat >"$WORK/run" <<SH
#!/bin/sh
(id -un; id -Gn) >$WORK/drill_ran
[ "\$(id -un)" = postgres ] || setsid sleep 300 >/dev/null 2>&1 </dev/null &
SH
chmod 755 "$WORK/run"
run_sql "CREATE FUNCTION public.run() RETURNS int LANGUAGE plpgsql AS \$\$ BEGIN
	EXECUTE 'COPY (SELECT 1) TO PROGRAM ''$WORK/run'''; RETURN 1; END \$\$;
	CREATE FUNCTION public.f(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS \$\$ BEGIN RETURN public.run(); END \$\$;
	CREATE TABLE public.runs AS SELECT 1 AS one; CREATE INDEX ON public.runs (public.f(one))" drill_source
[ "$(head -n 1 "$WORK/drill_ran")" = postgres ] || die "the function did not run"

printf '%s\n' "directory = $WORK/backups" "database = drill_source" "database = template1" >"$WORK/test.conf"
chmod 644 "$WORK/test.conf"
as_postgres pg_pardump_backup "$WORK/test.conf"
expect "good backups" 0 'drill_source/[0-9TZ]+: passed: 2 tables, 100,001 rows.*template1/[0-9TZ]+: passed.*restore test passed \(databases passed: 2, failed: 0' "drill_user = $user"
[ "$(head -n 1 "$WORK/drill_ran")" = "$user" ] || die "code of the database ran as $(cat "$WORK/drill_ran")"
[ "$(sed -n 2p "$WORK/drill_ran")" = "$(id -gn "$user")" ] || die "the server has the groups $(sed -n 2p "$WORK/drill_ran")"

expect "no user" 1 'error: drill_user is not set'
expect "a user that does not exist" 1 'error: drill_user "nosuchuser" does not exist' "drill_user = nosuchuser"
expect "root" 1 'error: drill_user "root" is root' "drill_user = root"
expect "the owner of the backups" 1 'error: drill_user "postgres" owns the backups' "drill_user = postgres"
setpriv --reuid="$user" --clear-groups --regid="$(id -g "$user")" sleep 300 &
sleeper=$!
remains=$sleeper
expect "a process of the user" 1 "error: drill_user \"$user\" must not run other processes, but runs process $sleeper" "drill_user = $user"
remains=
kill "$sleeper"
wait "$sleeper" || true
expect "little disk space" 1 'error: the restore test needs more disk space than it may use \(1 MB\)' "drill_user = $user" "drill_disk_limit = 1MB"
expect "little time" 1 'error: the restore test took longer than drill_time_limit \(10ms\)' "drill_user = $user" "drill_time_limit = 10ms"
expect "a missing library" 1 'error: the temporary server stopped during the restore test.*could not access file "nosuchlibrary"' "drill_user = $user" "drill_preload = nosuchlibrary"

file=$(find "$WORK/backups/drill_source" -name '[0-9]*.dat*' -size +0 | head -n 1)
printf X | dd of="$file" bs=1 seek=5 conv=notrunc status=none
expect "a damaged backup" 1 'drill_source/[0-9TZ]+: FAILED: pg_pardump --verify.*restore test FAILED \(databases passed: 1, failed: 1' "drill_user = $user"

# backups that are only in a store, from which commands of the owner return them
install -d -m 700 -o postgres -g postgres "$WORK/store"
store=("drill_user = $user" "database = drill_source" "database = template1"
	"pipe = mkdir -p $WORK/store/%d/%t && cat >$WORK/store/%d/%t/%f" "remove = rm -rf $WORK/store/%d/%t"
	"fetch = test \"\$HOME\" = ~postgres && cat $WORK/store/%d/%t/%f" "list = ls $WORK/store/%d")
empty_directory()
{
	find "$WORK/backups" -mindepth 1 -delete
}
empty_directory
printf '%s\n' "directory = $WORK/backups" "${store[@]}" >"$WORK/test.conf"
as_postgres pg_pardump_backup "$WORK/test.conf"
empty_directory
expect "backups in a store" 0 'drill_source/[0-9TZ]+: passed: 2 tables, 100,001 rows.*template1/[0-9TZ]+: passed.*restore test passed \(databases passed: 2, failed: 0' "${store[@]}"
expect "a store that hangs" 1 'error: the store did not return the newest backups within 1 s' "${store[@]/#list = */list = sh -c \"exec sleep 100300\" %d}" "drill_time_limit = 1s"
if pgrep -f '^sleep 100300$' >/dev/null; then
	die "a store that hangs: its command remains"
fi

chown root "$WORK/backups"
expect "backups of root" 1 'error: directory ".*" is owned by root, but the restore test requires backups of another user' "drill_user = $user"
chown postgres "$WORK/backups"
run_sql "DROP DATABASE drill_source"
run_sql "DROP ROLE drill_app"
