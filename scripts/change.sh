# shellcheck shell=bash
#
# change.sh: what scripts/test.sh --change tests, for test.sh, which sources it.
#
# The whole suite runs on one of the majors in $RELEASES, which rotates with the
# commit; the others run --quick.  The TAP files that cover the folders of the
# change run on all majors, by the table in CONTRIBUTING.md.

CHANGE_WHOLE=	# major of the whole suite
CHANGE_TESTS=	# TAP files for all majors
CHANGE_PLAN=()	# what print_change prints
MOST_FOLDERS=4
MOST_TESTS=20	# changed TAP files

# Run git in the repository whose top is $TREE: in no other that is above it, or
# that a hook's environment names.
git_tree()
{
	env -u GIT_DIR -u GIT_WORK_TREE -u GIT_INDEX_FILE GIT_CEILING_DIRECTORIES="$(dirname "$TREE")" \
		git -c safe.directory='*' -C "$TREE" "$@" 2>/dev/null
}

# A number that differs from change to change: the start of HEAD's commit ID, or
# a checksum of the sources where there is no repository.
change_number()
{
	local head

	if head=$(git_tree rev-parse --verify --quiet HEAD); then
		echo $((16#${head:0:7}))
	else
		(cd "$TREE" && find src t -type f -print0 | sort -z | xargs -0 cat | cksum | cut -d ' ' -f 1)
	fi
}

# The commit that the change is compared with, or nothing.
change_base()
{
	local head base ref

	if [ -n "${PG_PARDUMP_BASE:-}" ]; then
		git_tree rev-parse --verify --quiet "$PG_PARDUMP_BASE^{commit}" ||
			die "PG_PARDUMP_BASE \"$PG_PARDUMP_BASE\" is not a commit of this repository"
		return
	fi
	head=$(git_tree rev-parse --verify --quiet HEAD) || return 0
	for ref in origin/HEAD origin/main; do
		if base=$(git_tree merge-base HEAD "$ref") && [ "$base" != "$head" ]; then
			echo "$base"
			return
		fi
	done
	git_tree rev-parse --verify --quiet HEAD~10 || true
}

# The table of folders in CONTRIBUTING.md: folder <TAB> test files.
folder_table()
{
	awk -F '|' '
		/^\| folders +\| test files +\|/ { table = 1; next }
		table && !/^\|/ { exit }
		table && $2 ~ /`/ {
			n = split($2, folder, "`")
			for (i = 2; i <= n; i += 2)
				print folder[i] "\t" $3
		}' "$TREE/CONTRIBUTING.md"
}

# Set $CHANGE_TESTS for the files that changed since the commit $1, with those
# that are not committed.
plan_folders()
{
	local changed folder patterns pattern file
	local folders=() changed_tests=() tests=()

	changed=$(git_tree diff --name-only --no-renames "$1" && git_tree ls-files --others --exclude-standard) ||
		die "git could not list the files that changed since $1"
	while IFS=$'\t' read -r folder patterns; do
		if grep -q "^$folder" <<<"$changed"; then
			folders+=("$folder")
			for pattern in $patterns; do
				for file in "$TREE"/t/${pattern//\`/}.pl; do
					tests+=("t/$(basename "$file")")
				done
			done
		fi
	done < <(folder_table)
	for file in $(grep -E '^t/[^/]+\.pl$' <<<"$changed"); do
		[ ! -e "$TREE/$file" ] || changed_tests+=("$file")
	done
	CHANGE_PLAN+=("${#folders[@]} folders and ${#changed_tests[@]} TAP files changed since ${1:0:12}")
	if [ ${#folders[@]} -gt $MOST_FOLDERS ]; then
		CHANGE_PLAN+=("these are too many folders to run their tests on all majors; run \"scripts/test.sh --all\" by hand")
		return
	fi
	if [ ${#changed_tests[@]} -gt $MOST_TESTS ]; then
		CHANGE_PLAN+=("these are too many TAP files to run them on all majors; run \"scripts/test.sh --all\" by hand")
	else
		tests+=("${changed_tests[@]}")
	fi
	if [ ${#tests[@]} -gt 0 ]; then
		CHANGE_TESTS=$(printf '%s\n' "${tests[@]}" | sort -u | tr '\n' ' ')
	fi
	CHANGE_PLAN+=("on all majors: ${CHANGE_TESTS:-nothing more}")
}

plan_change()
{
	local releases base turn=${PG_PARDUMP_TURN:-}

	read -ra releases <<<"$RELEASES"
	[ -n "$turn" ] || turn=$(change_number)
	[[ $turn =~ ^[0-9]{1,18}$ ]] || die "PG_PARDUMP_TURN \"$turn\" is not a number"
	turn=$((10#$turn % ${#releases[@]}))
	CHANGE_WHOLE=${releases[turn]%:*}
	CHANGE_PLAN=("whole suite on PostgreSQL $CHANGE_WHOLE, --quick on the other majors of $RELEASES")
	base=$(change_base)
	if [ -n "$base" ]; then
		plan_folders "$base"
	else
		CHANGE_PLAN+=("no commit to compare with; run \"scripts/test.sh --all\" by hand")
	fi
	CHANGE_PLAN+=("to repeat: ${PG_PARDUMP_RELEASES:+PG_PARDUMP_RELEASES='$RELEASES' }PG_PARDUMP_TURN=$turn ${base:+PG_PARDUMP_BASE=${base:0:12} }.ci/run")
	print_change
}

print_change()
{
	printf 'change: %s\n' "${CHANGE_PLAN[@]}"
}
