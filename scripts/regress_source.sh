#!/bin/bash
#
# regress_source.sh: fetch PostgreSQL's own regression tests, which the tests
# run to make a database with something of everything in it.
#
# usage: scripts/regress_source.sh MAJOR DIRECTORY
#
# DIRECTORY gets sql, expected, data and the schedules of src/test/regress of
# Debian's source package, regress.so built against the installed headers, and
# the two packaged modules that the tests load from beside it.  It serves
# pg_regress both as --inputdir and as --dlpath.  The source comes from
# the archives that apt is set up for, checked by apt's signatures, through
# lists and sources of this script's own: no root, no change to the system.
#
# Where the archives lack all that their index promises, as some do for a while
# after a release, it is the one that scripts/regress_known.sha256 has, which
# they keep longer than they tell.
#
# The exit code is 77 if the archives have only packages of a version before its
# release (beta, release candidate), whose sources are not kept for long.

set -euo pipefail
. "$(dirname "$0")/common.sh"

# apt's idea of the world: sources only, of those of the system's archives that
# have the server's package (of all, when the package lists are not there).
make_apt_configuration()
{
	local apt=$1
	local archives file copy

	archives=$(apt-cache madison "postgresql-$major" | awk '{ print $5 }' | sort -u)
	mkdir -p "$apt/sources.list.d" "$apt/lists/partial" "$apt/cache/archives/partial"
	for file in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
		copy=$apt/sources.list.d/$(basename "$file")
		if [ ! -r "$file" ] || ! grep -qF "$archives" "$file"; then
			continue
		fi
		case $file in
			*.sources) sed -E 's/^Types:.*/Types: deb-src/' "$file" >"$copy" ;;
			*.list) sed -nE 's/^deb(-src)?[[:space:]]/deb-src /p' "$file" >"$copy" ;;
		esac
	done
	cat >"$apt/apt.conf" <<-END
		Dir::Etc::sourcelist "/dev/null";
		Dir::Etc::sourceparts "$apt/sources.list.d";
		Dir::State::lists "$apt/lists";
		Dir::Cache "$apt/cache";
		Acquire::Languages "none";
		APT::Sandbox::User "";
	END
	export APT_CONFIG=$apt/apt.conf
}

# Download the release that is known, from where the one that could not be
# fetched would be; the checksums are those of Debian's source packages.
download_known()
{
	local version=$1 uri sha256 name

	read -r sha256 name < <(grep "  postgresql-$major""_" "$TREE/scripts/regress_known.sha256") || return 1
	uri=$(apt-get -qq --print-uris --tar-only source "postgresql-$major=$version" 2>>update.log |
		sed -n "s/^'\\(.*\\)\\/[^/']*\\.orig\\.tar\\.bz2'.*/\\1/p")
	[ -n "$uri" ] || return 1
	/usr/lib/apt/apt-helper -qq download-file "$uri/$name" "$name" "SHA256:$sha256" >>update.log 2>&1 || return 1
	log "tests of $name, which is known by its checksum"
	unpack "$name"
}

# Unpack what is needed of a source package, or fail and leave nothing of it.  It takes most
# of the time, so there is no other check of the package.
unpack()
{
	rm -rf unpacked
	mkdir unpacked
	tar -C unpacked -xf "$1" --strip-components=4 --wildcards '*/src/test/regress/*' 2>>update.log &&
		cp -a unpacked/. "$target"
}

# Download and unpack the source package: the newest version
# that can be had, because a pool may lack what its index promises.
download_source()
{
	local version newest=

	# Archives of other vendors may have no sources; this is not an error.
	apt-get -qq update 2>update.log || true
	for version in $(apt-cache showsrc "postgresql-$major" 2>>update.log |
		sed -n 's/^Version: //p' | sort -Vru); do
		if apt-get -qq --download-only source "postgresql-$major=$version" >>update.log 2>&1 &&
			unpack "postgresql-${major}_${version%-*}.orig.tar.bz2"; then
			log "tests of the source package postgresql-$major $version"
			return
		fi
		log "version $version of the source package could not be fetched"
		newest=${newest:-$version}
	done
	if download_known "$newest"; then
		return
	fi
	case ${newest%-*} in
		*~*) log "the archives have dropped the sources of a version before its release"; exit 77 ;;
	esac
	cat update.log >&2
	die "no source package postgresql-$major could be fetched"
}

build_module()
{
	local pg_config=${PG_CONFIG:-/usr/lib/postgresql/$major/bin/pg_config}

	make -s -C "$target" -f - PG_CONFIG="$pg_config" regress.so <<-'END'
		MODULES = regress
		PGXS := $(shell $(PG_CONFIG) --pgxs)
		include $(PGXS)
	END
	rm -f "$target"/*.o
	cp "$("$pg_config" --pkglibdir)"/{autoinc,refint}.so "$target/"
}

case ${1:-} in
	--help | -h) print_help; exit 0 ;;
esac
[ $# -eq 2 ] || die "usage: $PROGRAM MAJOR DIRECTORY"
major=$1
mkdir -p "$2"
target=$(cd "$2" && pwd)

unset PG_PARDUMP_WORK
make_work_directory
make_apt_configuration "$WORK/apt"
mkdir "$WORK/download"
cd "$WORK/download"
download_source
build_module
