# shellcheck shell=bash
#
# cluster.sh: throwaway PostgreSQL clusters for the scripts that source it.

# The directory's name in $WORK, and the port, for a second cluster to differ.
CLUSTER=cluster
CLUSTER_PORT=54321

# Make and start a cluster in $WORK/$CLUSTER with the programs of the directory
# $1, as the ordinary user that runs this.  Other users cannot reach it: no TCP,
# and a socket in $WORK/socket.  Further arguments are settings, name=value.
# Sets the variables that make the client programs connect to it.  clean_up
# stops it.
start_cluster()
{
	local bindir=$1

	shift
	mkdir -m 700 -p "$WORK/socket"
	if ! run_job "$bindir/initdb" --pgdata="$WORK/$CLUSTER" --username=postgres \
		--auth=trust --encoding=UTF8 --locale=C --no-sync >"$WORK/$CLUSTER.initdb.log" 2>&1; then
		cat "$WORK/$CLUSTER.initdb.log" >&2
		die "initdb failed"
	fi
	{
		echo "listen_addresses = ''"
		echo "unix_socket_directories = '$WORK/socket'"
		printf '%s\n' "$@"
	} >>"$WORK/$CLUSTER/postgresql.conf"
	export PGHOST=$WORK/socket PGPORT=$CLUSTER_PORT PGUSER=postgres PGDATABASE=postgres
	if ! run_job "$bindir/pg_ctl" start --pgdata="$WORK/$CLUSTER" --wait --silent \
		--log="$WORK/$CLUSTER.log" -o "-p $PGPORT" >/dev/null; then
		cat "$WORK/$CLUSTER.log" >&2
		die "the server did not start"
	fi
}
