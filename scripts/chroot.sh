#!/bin/bash
#
# chroot.sh: run a command on another Debian release, to build and test with
# the PostgreSQL that it packages.  Run it as root.
#
# usage: scripts/chroot.sh [--bare] [--main] SUITE COMMAND [ARGUMENT...]
#        scripts/chroot.sh --remove [SUITE...]
#
# SUITE is bookworm, trixie, forky or another release of Debian; "experimental"
# is sid with experimental's PostgreSQL.  Its root is made by debootstrap when it
# is missing and kept for the next time in
# ${PG_PARDUMP_CHROOTS:-/var/tmp/pg_pardump-chroots}; --remove removes roots.
# COMMAND starts as root in /checkout, a read-only view of this checkout, with
# an empty environment.  It has mounts and processes of its own, /tmp and
# /var/tmp too: when it or this script ends, none of them is left.
#
#   --bare   in a copy of a root without any package that a command installed,
#            SUITE-bare; the copy ends with COMMAND
#   --main   in a root without security updates, SUITE-main: its PostgreSQL is
#            that of the release's last point release, an older minor mostly
#
# The packages come from $MIRROR, or from where the system's own come from, and
# security updates from where the system's come from.

set -euo pipefail
. "$(dirname "$0")/common.sh"

ROOTS=${PG_PARDUMP_CHROOTS:-/var/tmp/pg_pardump-chroots}

# The first archive of the name $1 that apt is set up for.
system_archive()
{
	# shellcheck disable=SC2016 # apt's variables
	apt-get indextargets --format '$(CREATED_BY) $(REPO_URI)' |
		sed -nE "s,^Packages (https?://.*/$1)/*\$,\1,p" | head -n 1
}

# Remove a root, but never what is mounted below it.
remove_root()
{
	local root=$1

	if [ ! -e "$root" ]; then
		return 0
	fi
	root=$(readlink -f "$root")
	if awk '{ print $5 }' /proc/self/mountinfo | grep -q "^$root\(/\|\$\)"; then
		die "something is mounted below \"$root\"; it is not removed"
	fi
	rm -rf --one-file-system "$root"
}

# Run a command with mounts and processes of its own, which end with it.
run_isolated()
{
	local status=0

	unshare --mount --pid --fork --kill-child -- "$@" </dev/null &
	ISOLATED=$!
	wait "$ISOLATED" || status=$?
	ISOLATED=
	return "$status"
}

end_isolated()
{
	local status=$?

	trap - EXIT
	trap '' HUP INT TERM
	if [ -n "$ISOLATED" ]; then
		# unshare's child is the first process of the others, and they end with
		# it.  It does not end with unshare itself any more once it has become
		# another user, by which the kernel forgets --kill-child.
		# shellcheck disable=SC2046 # none, or one
		kill -KILL $(cat "/proc/$ISOLATED/task/$ISOLATED/children") "$ISOLATED" 2>/dev/null || true
		wait "$ISOLATED" 2>/dev/null || true
	fi
	rm -f "$ROOTS/.log.$$"
	remove_root "$ROOTS/.new.$$"
	remove_root "$ROOTS/.scratch.$$"
	exit "$status"
}

# Make the root of $suite below another name first: a root that is there is a
# whole one.
make_root()
{
	local new=$ROOTS/.new.$$
	local base=$suite
	local script

	# Experimental consists of packages that are installed on top of sid.
	[ "$suite" != experimental ] || base=sid
	script=/usr/share/debootstrap/scripts/$base
	# debootstrap of an older release does not know a newer one, which is
	# made as the development release is.
	[ -e "$script" ] || script=/usr/share/debootstrap/scripts/sid
	[ -n "$mirror" ] || die "apt is set up for no Debian archive; name one by MIRROR"
	log "making a root of Debian $suite in \"$root\""
	if ! run_isolated debootstrap --variant=minbase --merged-usr "$base" "$new" "$mirror" "$script" \
		>"$ROOTS/.log.$$" 2>&1; then
		tail -n 20 "$ROOTS/.log.$$" >&2
		die "debootstrap failed"
	fi
	printf 'deb %s %s main\n' "$mirror" "$base" "$mirror" "$suite" | uniq >"$new/etc/apt/sources.list"
	if [ -n "$security" ] && [ "$base" != sid ]; then
		echo "deb $security $suite-security main" >>"$new/etc/apt/sources.list"
	fi
	if [ "$suite" = experimental ]; then
		cat >"$new/etc/apt/preferences.d/90pg_pardump" <<-END
			Package: src:postgresql-*
			Pin: release a=experimental
			Pin-Priority: 500
		END
	fi
	[ -s "$new/etc/hosts" ] || echo "127.0.0.1 localhost $(uname -n)" >"$new/etc/hosts"
	# A testing release's index is valid for a week, and by this clock only;
	# the root is for tests.
	cat >"$new/etc/apt/apt.conf.d/90pg_pardump" <<-END
		Acquire::Check-Valid-Until "false";
		Acquire::Check-Date "false";
		APT::Install-Recommends "false";
	END
	apt-config dump Acquire | sed -n '/::Proxy /p' >>"$new/etc/apt/apt.conf.d/90pg_pardump"
	# No package may start a server.
	printf '#!/bin/sh\nexit 101\n' >"$new/usr/sbin/policy-rc.d"
	chmod +x "$new/usr/sbin/policy-rc.d"
	mv "$new" "$root"
}

# Make the root if it does not exist, or if it is not sound, unless other
# processes use it: an installation of theirs looks as if it had been cut short.
# Each process that uses a root holds a shared lock.
prepare_root()
{
	local lock

	mkdir -p "$ROOTS"
	exec {lock}>>"$ROOTS/.lock.$(basename "$root")"
	if flock --nonblock --exclusive "$lock"; then
		if [ -d "$root" ] && ! root_is_sound; then
			log "in \"$root\" an installation of packages was cut short: making it again"
			remove_root "$root"
		fi
		[ -d "$root" ] || make_root
	fi
	flock --shared "$lock"
	[ -d "$root" ] || die "another run could not make the root \"$root\""
}

# Was the root's last installation of packages not cut short?
root_is_sound()
{
	[ -z "$(ls "$root/var/lib/dpkg/updates")" ] &&
		[ -z "$(chroot "$root" dpkg --audit)" ]
}

# Runs in the namespaces, as their first process.
# Arguments: root, checkout, scratch directory, command.
# shellcheck disable=SC2016 # expanded by the shell it is handed to
INSIDE='set -eu
root=$1 tree=$2 scratch=$3
shift 3
# The root becomes a mount, as that of a machine is: a mount namespace inside
# it needs one.
mount --rbind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 devpts "$root/dev/pts"
mount --bind "$root/dev/pts/ptmx" "$root/dev/ptmx"
for dir in tmp var/tmp; do
	mkdir -p "$scratch/$dir"
	chmod 1777 "$scratch/$dir"
	mount --bind "$scratch/$dir" "$root/$dir"
done
mount --bind "$tree" "$root/checkout"
mount -o remount,bind,ro "$root/checkout"
# Not by chroot: inside one, users may have no namespaces, which tests need.
cd "$root"
pivot_root . mnt
cd /
umount --lazy /mnt
# Not exec: the first process of a namespace gets no signal that it does not
# handle, and has to bury the orphans.
/usr/bin/env -i "$@"'

run_in_root()
{
	local scratch=$ROOTS/.scratch.$$

	mkdir -p "$scratch"
	if [ "$bare" = yes ]; then
		cp -a "$root" "$scratch/root"
		root=$scratch/root
	fi
	mkdir -p "$root/checkout" "$root/dev/shm" "$root/dev/pts"
	[ -e "$root/dev/ptmx" ] || touch "$root/dev/ptmx"
	cp -L /etc/resolv.conf "$root/etc/resolv.conf"
	run_isolated bash -c "$INSIDE" bash "$root" "$TREE" "$scratch" \
		PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root sh -c 'cd /checkout && exec "$@"' sh "$@"
}

bare=no
main=no
while [ $# -gt 0 ]; do
	case $1 in
		--help | -h) print_help; exit 0 ;;
		--bare) bare=yes ;;
		--main) main=yes ;;
		--remove)
			shift
			[ $# -gt 0 ] || set -- "$ROOTS"/*
			for suite; do
				suite=$(basename "$suite")
				[ -e "$ROOTS/$suite" ] || continue
				exec {lock}>>"$ROOTS/.lock.$suite"
				flock --nonblock --exclusive "$lock" || die "something runs in \"$ROOTS/$suite\"; it is not removed"
				remove_root "$ROOTS/$suite"
				rm -f "$ROOTS/.lock.$suite"
			done
			exit 0
			;;
		-*) die "unknown option \"$1\"; see --help" ;;
		*) break ;;
	esac
	shift
done
[ $# -ge 2 ] || die "usage: $PROGRAM [--bare] [--main] SUITE COMMAND [ARGUMENT...]"
[ "$EUID" -eq 0 ] || die "run this as root"
[ -x "$(command -v debootstrap)" ] || die "debootstrap is missing; see scripts/install_dependencies.sh --chroots"

suite=$1
shift
root=$ROOTS/$suite
mirror=${MIRROR:-$(system_archive debian)}
security=
if [ "$main" = yes ]; then
	root+=-main
else
	security=$(system_archive debian-security)
fi
[ "$bare" = no ] || root+=-bare
ISOLATED=
trap end_isolated EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
prepare_root
run_in_root "$@"
