# shellcheck shell=bash
#
# common.sh: what the scripts beside it share; they source this file.
#
# It gives messages, the right user (root for packages, an ordinary one for
# PostgreSQL, which refuses to run as root), one work directory that holds all
# that a script makes, and the clean-up that removes it however the script ends.

# The scripts read other programs' output, and sort it: one language, one order.
export LC_ALL=C.UTF-8
export DEBIAN_FRONTEND=noninteractive

TREE=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
PROGRAM=$(basename "$0")
WORK=
JOB=
CHILDREN=()
FOLLOWERS=()
DEPENDENCIES=()	# options of install_dependencies.sh
ON_EXIT=:	# what else the script has to undo when it ends

# Debian releases whose own PostgreSQL the tests run on, as major:release, or
# those that PG_PARDUMP_RELEASES names in the same form.
# shellcheck disable=SC2034 # read by the scripts that source this file
RELEASES=${PG_PARDUMP_RELEASES:-"15:bookworm 17:trixie 18:forky"}
# The next major, in the same form, which is not released yet.
# shellcheck disable=SC2034
NEXT_RELEASE=19:experimental

# What make passes to the makes that it runs is not for those of the scripts.
unset MAKEFLAGS MFLAGS MAKELEVEL

# The PG_CONFIG of a packaged server is another way to name its major.
if [ -n "${PG_CONFIG:-}" ]; then
	case $("$PG_CONFIG" --sharedir) in
		/usr/share/*)
			PG_MAJOR=$("$PG_CONFIG" --version | sed 's/^PostgreSQL \([0-9]*\).*/\1/')
			export PG_MAJOR
			unset PG_CONFIG
			;;
	esac
fi

log()
{
	printf '%s: %s\n' "$PROGRAM" "$*" >&2
}

die()
{
	log "error: $*"
	exit 1
}

# Print the header comment of the script as its help.
print_help()
{
	sed -n '3,/^$/s/^# \{0,1\}//p' "$0"
}

# Run a command as root: directly, or through sudo.
as_root()
{
	if [ "$EUID" -eq 0 ]; then
		"$@"
	elif [ -x "$(command -v sudo)" ]; then
		sudo -- "$@"
	else
		die "root is needed for \"$*\", and there is no sudo"
	fi
}

# The PostgreSQL major to use: that of $PG_CONFIG; else $PG_MAJOR; else the
# newest whose server and headers are both installed; else the newest that the
# system's archive has.
pg_major()
{
	local dir major=

	if [ -n "${PG_CONFIG:-}" ]; then
		"$PG_CONFIG" --version | sed 's/^PostgreSQL \([0-9]*\).*/\1/'
		return
	fi
	if [ -n "${PG_MAJOR:-}" ]; then
		echo "$PG_MAJOR"
		return
	fi
	for dir in /usr/lib/postgresql/*/; do
		if [ -x "$dir/bin/postgres" ] && [ -e "$dir/lib/pgxs/src/makefiles/pgxs.mk" ]; then
			major+="$(basename "$dir") "
		fi
	done
	if [ -z "$major" ]; then
		major=$(apt-cache search --names-only '^postgresql-server-dev-[0-9]+$' |
			sed 's/^postgresql-server-dev-\([0-9]*\) .*/\1/')
	fi
	tr ' ' '\n' <<<"$major" | sort -n | tail -n 1
}

# Copy the checkout's files to the directory $1, without what a build or
# build_packages.sh made and without .git, so that a copy can belong to another
# user or to another major.  With PG_PARDUMP_OBJECTS=keep the copy has the object
# files, too, for the same major.
copy_tree()
{
	local objects=()

	if [ "${PG_PARDUMP_OBJECTS:-}" != keep ]; then
		objects=(--exclude='*.o' --exclude='*.d' --exclude='*.so' --exclude='*.bc' \
			--exclude=./src/frontend/pg_pardump \
			--exclude=./src/frontend/pg_parrestore --exclude=./src/frontend/pg_parbasebackup --exclude=./test/unit/unit_test)
	fi
	mkdir -p "$1"
	tar -C "$TREE" -cf - --exclude=./.git "${objects[@]}" --exclude='./doc/*.1' \
		--exclude=./html --exclude=./results \
		--exclude=./packages --exclude='./pg_pardump-*.zip' \
		--exclude=./tmp_check . | tar -C "$1" -xf - --no-same-owner
}

# Make $WORK, and see to it that it and all that runs below it goes away when
# the script ends, also by a signal.  /var/tmp, because /tmp may be memory.
make_work_directory()
{
	local lock

	trap clean_up EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
	WORK=${PG_PARDUMP_WORK:-}
	if [ -z "$WORK" ]; then
		remove_abandoned "${TMPDIR:-/var/tmp}"
		WORK=$(mktemp -d -p "${TMPDIR:-/var/tmp}" pg_pardump.XXXXXX)
		exec {lock}<"$WORK"
		flock --shared "$lock"
	fi
	unset PG_PARDUMP_WORK
}

# Remove the work directories in the directory $1 that killed runs have left:
# they may have gigabytes, also of memory.  All living processes of a run hold
# the lock of its directory, or work below it; a directory that is just being
# made is young.
remove_abandoned()
{
	local dir lock
	local whose=(-user "$EUID")

	[ "$EUID" -ne 0 ] || whose=()	# root's runs go on as another user
	while read -r dir; do
		exec {lock}<"$dir" || continue
		if flock --nonblock --exclusive "$lock" &&
			[ -z "$(find /proc/[0-9]*/cwd -maxdepth 0 -lname "$dir*" 2>/dev/null)" ]; then
			log "removing \"$dir\", which a run that was ended by force has left"
			rm -rf --one-file-system "$dir" || true
		fi
		exec {lock}<&-
	done < <(find "$1" -mindepth 1 -maxdepth 1 -type d "${whose[@]}" -mmin +5 \
		-name 'pg_pardump.??????' 2>/dev/null)
}

clean_up()
{
	local status=$?

	trap - EXIT
	trap '' HUP INT TERM	# a second Ctrl-C must not cut this short
	end_children
	end_job
	"$ON_EXIT" || status=1
	if [ -n "$WORK" ]; then
		stop_servers_below "$WORK"
		cd /
		rm -rf --one-file-system "$WORK" || status=1
	fi
	exit "$status"
}

# Have what the script needs, be an ordinary user, and have a work directory.
# Arguments: the script's own, since it may be started again.
prepare()
{
	if [ -z "${PG_PARDUMP_WORK:-}" ]; then
		"$TREE/scripts/install_dependencies.sh" "${DEPENDENCIES[@]}"
	fi
	become_ordinary_user "$@"
	make_work_directory
}

# As root, start this script again as an ordinary user, from a copy of the tree
# that this user can read, in a work directory that the user owns; the new
# process replaces this one and cleans up.  As an ordinary user do nothing.
# Arguments: the script's own.  PostgreSQL's variables are not inherited.
become_ordinary_user()
{
	local user="nobody"
	local variable

	for variable in "${!PG@}"; do
		case $variable in
			PG_MAJOR | PG_CONFIG | PG_PARDUMP_*) ;;
			*) unset "$variable" ;;
		esac
	done
	if [ "$EUID" -ne 0 ]; then
		return
	fi
	if id postgres >/dev/null 2>&1; then
		user=postgres
	fi
	make_work_directory
	copy_tree "$WORK/tree"
	chown -R "$user:" "$WORK"
	cd "$WORK" || die "could not change directory to \"$WORK\""
	exec setpriv --reuid="$user" --regid="$(id -g "$user")" --init-groups \
		env HOME="$WORK" USER="$user" LOGNAME="$user" PG_PARDUMP_WORK="$WORK" \
		"$WORK/tree/scripts/$PROGRAM" "$@"
}

# Run a command in a process group of its own and wait for it, so that a signal
# to the script is acted on at once and reaches the command's children too.
# Returns its exit code.
run_job()
{
	local status=0

	set -m
	"$@" </dev/null &
	JOB=$!
	set +m
	wait "$JOB" || status=$?
	JOB=
	return "$status"
}

# Start one of these scripts, perhaps through sudo, with its output going to the
# file $1 and, each line behind the name $2, to standard output.  It stays in
# this process group; a signal is passed on to it, and it cleans up itself.
start_script()
{
	local output=$1 name=$2

	shift 2
	: >"$output"
	"$@" >"$output" 2>&1 </dev/null &
	CHILDREN+=($!)
	tail -n +1 -f --pid=$! "$output" | sed -u "s/^/$name: /" &
	FOLLOWERS+=($!)
}

# End the scripts that were started.
end_children()
{
	local child

	for child in "${CHILDREN[@]}"; do
		kill -TERM "$child" 2>/dev/null || sudo -n kill -TERM "$child" 2>/dev/null || true
	done
	for child in "${CHILDREN[@]}" "${FOLLOWERS[@]}"; do
		wait "$child" || true
	done
}

# End the command of run_job and its children: politely, then by force.
end_job()
{
	local tries

	if [ -z "$JOB" ]; then
		return 0
	fi
	kill -TERM -- "-$JOB" 2>/dev/null || true
	for ((tries = 0; tries < 50; tries++)); do
		if ! kill -0 -- "-$JOB" 2>/dev/null; then
			return 0
		fi
		sleep 0.1
	done
	kill -KILL -- "-$JOB" 2>/dev/null || true
}

# Stop every PostgreSQL server whose data directory lies below the directory
# $1, tests' servers included.  The working directory of the process must be
# that data directory: a stale pid file may name a process of another user.
stop_servers_below()
{
	local pidfile pid tries

	while read -r pidfile; do
		pid=$(head -n 1 "$pidfile" 2>/dev/null) || continue
		if [ "$(readlink "/proc/$pid/cwd")" != "$(dirname "$pidfile")" ]; then
			continue
		fi
		kill -QUIT "$pid" 2>/dev/null || continue	# immediate shutdown
		for ((tries = 0; tries < 100; tries++)); do
			kill -0 "$pid" 2>/dev/null || break
			sleep 0.1
		done
	done < <(find "$(readlink -f "$1")" -name postmaster.pid 2>/dev/null)
}
