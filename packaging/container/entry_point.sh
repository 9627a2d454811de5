#!/bin/sh
#
# entry_point.sh: what a container runs.
#
# usage: entry_point.sh [OPTION... | PROGRAM [ARGUMENT...]]
#
# If the first word is an option, or there is none, pg_pardump gets them all;
# else it is the program, of ours or any other.  PG_MAJOR is the major whose
# programs are to run; without it they are the newest of the image's, which
# dump older servers, too, but whose archives are for servers of their own
# major and newer ones.

set -eu

if [ -n "${PG_MAJOR:-}" ]; then
	bindir=${PG_BINDIRS:-/usr/lib/postgresql}/$PG_MAJOR/bin
	if [ ! -x "$bindir/pg_pardump" ]; then
		echo "entry_point.sh: error: there are no programs of PostgreSQL \"$PG_MAJOR\" in this image" >&2
		exit 1
	fi
	PATH=$bindir:$PATH
fi
case ${1:--} in
	-*) set -- pg_pardump "$@" ;;
esac
exec "$@"
