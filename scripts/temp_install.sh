#!/bin/bash
#
# temp_install.sh: build pg_pardump and install it beside a private copy of
# PostgreSQL, so that nothing is written into the system's.
#
# usage: scripts/temp_install.sh DIRECTORY
#
# The major is $PG_MAJOR, or the newest that is installed; or PG_CONFIG names
# the program of a server that was built from source with a --prefix of its
# own, e.g. one with assertions, and that is copied.  DIRECTORY gets
# src, a copy of the checkout that is built in, and usr, a copy of the packaged
# PostgreSQL: its programs find their files by their own place, so a copy works
# as long as the end of its path stays the same.  No root is needed.  Prints
# the directory of the programs as its only line on standard output; that
# directory's pg_config is the one for "make installcheck".

set -euo pipefail
. "$(dirname "$0")/common.sh"

case ${1:-} in
	--help | -h) print_help; exit 0 ;;
	"" | -*) die "usage: $PROGRAM DIRECTORY" ;;
esac
mkdir -p "$1"
target=$(cd "$1" && pwd)
major=$(pg_major)

copy_packaged_server()
{
	bindir=$target/usr/lib/postgresql/$major/bin
	[ -x "/usr/lib/postgresql/$major/bin/postgres" ] ||
		die "PostgreSQL $major is not installed; see scripts/install_dependencies.sh"
	mkdir -p "$target/usr/lib/postgresql" "$target/usr/share/postgresql" "$target/usr/include"
	cp -a "/usr/lib/postgresql/$major" "$target/usr/lib/postgresql/"
	cp -a "/usr/share/postgresql/$major" "$target/usr/share/postgresql/"
	ln -sfn /usr/include/postgresql "$target/usr/include/postgresql"
}

copy_own_server()
{
	local prefix

	prefix=$(dirname "$("$PG_CONFIG" --bindir)")
	case $("$PG_CONFIG" --sharedir) in
		"$prefix"/*) ;;
		*) die "the server of PG_CONFIG is not below one prefix" ;;
	esac
	cp -a "$prefix" "$target/usr"
	bindir=$target/usr/bin
}

copy_tree "$target/src"
if [ -n "${PG_CONFIG:-}" ]; then
	copy_own_server
else
	copy_packaged_server
fi

log "building for PostgreSQL $major"
# Without bitcode: no query that is compiled calls a function of ours often.
if ! make -C "$target/src" -j2 COPT="${COPT:--Werror}" PG_CONFIG="$bindir/pg_config" \
	with_llvm=no all install >"$target/build.log" 2>&1; then
	cat "$target/build.log" >&2
	die "the build failed"
fi
echo "$bindir"
