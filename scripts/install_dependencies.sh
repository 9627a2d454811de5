#!/bin/bash
#
# install_dependencies.sh: install what building and testing pg_pardump needs.
#
# usage: scripts/install_dependencies.sh [--build] [--chroots] [--pgcopydb]
#
# Debian 12 or newer, as root or as a user with sudo.  Only packages that are
# missing are installed, and named before.  PostgreSQL is the major $PG_MAJOR,
# or the newest that is installed, or the newest that the archive has; when
# its server package is new, no cluster is created or started by it.  Nor does
# a new SSH server or PgBouncer start, now or with the machine: the tests have their
# own, and to have the system's remove /etc/ssh/sshd_not_to_be_run, or run
# "systemctl unmask pgbouncer".
#
#   --build     only what building needs, and a server for scripts/demo.sh
#   --chroots   also debootstrap, which scripts/chroot.sh needs
#   --pgcopydb  also pgcopydb, which bench/copy.sh compares with

set -euo pipefail
. "$(dirname "$0")/common.sh"

CLUSTER_CONF=/etc/postgresql-common/createcluster.d/pg_pardump_install.conf

missing_packages()
{
	local package

	for package; do
		if [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" != installed ]; then
			echo "$package"
		fi
	done
}

package_list()
{
	local major=$1

	echo gcc make libc6-dev libpq-dev libssl-dev zlib1g-dev libzstd-dev liblz4-dev libdeflate-dev libisal-dev
	if [ -z "${PG_CONFIG:-}" ]; then
		echo "postgresql-$major" "postgresql-server-dev-$major"
	fi
	if [ "$only_build" = no ]; then
		test_package_list
	fi
	if [ "$with_chroots" = yes ]; then
		echo debootstrap debian-archive-keyring
	fi
	if [ "$with_pgcopydb" = yes ]; then
		echo pgcopydb
	fi
}

test_package_list()
{
	echo libipc-run-perl libio-pty-perl bzip2 zstd lz4 age gpg gpg-agent ca-certificates
	echo pandoc man-db zsh locales fakeroot
	echo python3-sphinx python3-myst-parser furo	# for "make html"
	echo rpm	# for t/189_packaging.pl
	echo slurmctld slurmd slurm-client munge	# for t/182_slurm.pl
	echo python3-swift	# an S3 server for t/198_store_*.pl; it has no service
	# not in every release; t/189_backup_pipe.pl and t/198_store_*.pl skip what needs it,
	# and reach the S3 server with s3cmd
	case $(apt-cache policy rclone 2>/dev/null) in
		*'Candidate: '[!\(]*) echo rclone ;;
		*) echo s3cmd ;;
	esac
	echo parallel openssh-client openssh-server	# for t/182_ssh.pl and t/198_store_sftp.pl
	echo pgbouncer	# for t/003_poolers.pl
	echo clang libclang-rt-dev	# for libFuzzer
}

# Run apt-get; what it prints is of interest only when it fails.  It has a
# session of its own, so that a Ctrl-C waits for it: cut short, it would leave
# the system's packages half installed.
quiet_apt_get()
{
	if ! as_root setsid --wait env DEBIAN_FRONTEND=noninteractive apt-get -qq -y \
		-o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 -o APT::Install-Recommends=false "$@" >"$WORK/apt.log" 2>&1; then
		cat "$WORK/apt.log" >&2
		die "apt-get $1 failed"
	fi
}

# Without this, the server package would create a cluster and start it.
forbid_main_cluster()
{
	quiet_apt_get install postgresql-common
	# shellcheck disable=SC2034 # read by clean_up
	ON_EXIT=allow_main_cluster
	as_root mkdir -p "$(dirname "$CLUSTER_CONF")"
	echo "create_main_cluster = false" | as_root tee "$CLUSTER_CONF" >/dev/null
}

allow_main_cluster()
{
	as_root rm -f "$CLUSTER_CONF"
}

# Debian's own means to have the program, and no service that others reach.
forbid_ssh_service()
{
	as_root mkdir -p /etc/ssh
	as_root touch /etc/ssh/sshd_not_to_be_run
}

# The same for the pooler's, by a unit of systemd's that leads nowhere.
forbid_pgbouncer_service()
{
	as_root mkdir -p /etc/systemd/system
	as_root ln -sf /dev/null /etc/systemd/system/pgbouncer.service
}

only_build=no
with_chroots=no
with_pgcopydb=no
while [ $# -gt 0 ]; do
	case $1 in
		--build) only_build=yes ;;
		--chroots) with_chroots=yes ;;
		--pgcopydb) with_pgcopydb=yes ;;
		--help | -h) print_help; exit 0 ;;
		*) die "unknown option \"$1\"; see --help" ;;
	esac
	shift
done

if [ ! -e /etc/debian_version ] || [ ! -x "$(command -v apt-get)" ]; then
	die "this is not Debian; install by hand: gcc, make, PostgreSQL 15 or newer with its server headers and PGXS," \
		"the headers of libpq, OpenSSL, zlib, zstd, lz4, libdeflate and ISA-L, and Perl's IPC::Run"
fi

unset PG_PARDUMP_WORK
make_work_directory
updated=no
major=$(pg_major)
if [ -z "$major" ]; then
	log "updating the package lists"
	quiet_apt_get update
	updated=yes
	major=$(pg_major)
fi
[ -n "$major" ] || die "the package archive has no postgresql-server-dev"

# shellcheck disable=SC2046 # one word a package
missing=$(missing_packages $(package_list "$major"))
if [ -z "$missing" ]; then
	exit 0
fi
log "installing" "$(tr '\n' ' ' <<<"$missing")"
if [ "$updated" = no ]; then
	quiet_apt_get update
fi
case $missing in
	*postgresql-"$major"*) forbid_main_cluster ;;
esac
case $missing in
	*openssh-server*) forbid_ssh_service ;;
esac
case $missing in
	*pgbouncer*) forbid_pgbouncer_service ;;
esac
# shellcheck disable=SC2086 # one word a package
quiet_apt_get install $missing
