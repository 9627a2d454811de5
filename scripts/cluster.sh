# shellcheck shell=bash
#
# cluster.sh: throwaway PostgreSQL clusters for the scripts that source it.

# Make and start a cluster in $WORK/cluster with the programs of the directory
# $1, as the ordinary user that runs this, reachable by nobody else: no TCP,
# and a socket in $WORK/socket.  Further arguments are settings, name=value.
# Sets the variables that make the client programs connect to it.  clean_up
# stops it.
start_cluster()
{
	local bindir=$1

	shift
	mkdir -m 700 "$WORK/socket"
	if ! run_job "$bindir/initdb" --pgdata="$WORK/cluster" --username=postgres \
		--auth=trust --encoding=UTF8 --locale=C --no-sync >"$WORK/initdb.log" 2>&1; then
		cat "$WORK/initdb.log" >&2
		die "initdb failed"
	fi
	{
		echo "listen_addresses = ''"
		echo "unix_socket_directories = '$WORK/socket'"
		printf '%s\n' "$@"
	} >>"$WORK/cluster/postgresql.conf"
	export PGHOST=$WORK/socket PGPORT=54321 PGUSER=postgres PGDATABASE=postgres
	if ! run_job "$bindir/pg_ctl" start --pgdata="$WORK/cluster" --wait --silent \
		--log="$WORK/server.log" -o "-p $PGPORT" >/dev/null; then
		cat "$WORK/server.log" >&2
		die "the server did not start"
	fi
}
