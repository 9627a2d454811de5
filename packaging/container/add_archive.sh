#!/bin/sh
#
# add_archive.sh: let apt install from apt.postgresql.org, if it is to.
#
# usage: add_archive.sh yes|no
#
# A step of the Containerfile, twice.

set -eu

apt-get update -qq
case $1 in
	yes)
		apt-get install -qq -y --no-install-recommends ca-certificates postgresql-common
		# -y: no question; it ends with apt-get update
		/usr/share/postgresql-common/pgdg/apt.postgresql.org.sh -y
		;;
	no) ;;
	*)
		echo "add_archive.sh: error: PGDG is \"$1\", which is neither yes nor no" >&2
		exit 1
		;;
esac
