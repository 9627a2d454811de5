# shellcheck shell=bash
#
# common.sh: what the scripts beside it share; they source this file.  They run
# as root in a root of scripts/chroot.sh, never on a system that is kept.

. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"

# Run a command whose output, in $WORK/command.log, matters only if it fails.
quietly()
{
	if ! "$@" >"$WORK/command.log" 2>&1 </dev/null; then
		cat "$WORK/command.log" >&2
		die "failed: $*"
	fi
}

apt()
{
	quietly apt-get -qq -y "$@"
}

as_postgres()
{
	quietly setpriv --reuid=postgres --regid=postgres --init-groups "$@"
}

# usage: run_sql SQL [DATABASE]
run_sql()
{
	as_postgres psql -Xq --set=ON_ERROR_STOP=1 --command="$1" --dbname="${2:-postgres}"
}
