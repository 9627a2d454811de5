# bash completion for pg_pardump and its like.  The options are those of their
# --help; names come from the server that the environment names, if it lets in
# without a password.  bash finds it by the name of each command: install a link.

_pg_pardump_databases='SELECT datname FROM pg_database WHERE datallowconn'
# without their schema if they are found so
_pg_pardump_tables="SELECT CASE WHEN pg_table_is_visible(c.oid) THEN format('%I', relname)
		ELSE format('%I.%I', nspname, relname) END
	FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
	WHERE relkind IN ('r', 'p', 'm', 'f') AND nspname <> 'information_schema'
		AND nspname NOT LIKE 'pg\_%'"

_pg_pardump_qualified_tables=${_pg_pardump_tables/pg_table_is_visible(c.oid)/false}

# Complete with the lines of a query's answer, quoted for the shell, as what is
# typed has to be.  compgen -W would run commands that are in them.
_pg_pardump_query()
{
	local name

	COMPREPLY=()
	while IFS= read -r name; do
		printf -v name %q "$name"
		if [[ $name == "$cur"* ]]; then
			COMPREPLY+=("$name")
		fi
	done < <(PGCONNECT_TIMEOUT=2 psql -XAtqwc "$1" 2>/dev/null)
}

_pg_pardump_query_tables()
{
	if [[ $cur == *.* ]]; then
		_pg_pardump_query "$_pg_pardump_qualified_tables"
	else
		_pg_pardump_query "$_pg_pardump_tables"
	fi
}

# Has the option a value, by what --help ($1) says?
_pg_pardump_takes_value()
{
	[[ $2 =~ ^--?[A-Za-z-]+$ ]] &&
		"$1" --help 2>/dev/null | grep -qE -- "^  ($2, --[a-z-]+|(-., )?$2)="
}

# Complete with the options that the --help of the program $1 lists.
_pg_pardump_options()
{
	COMPREPLY=($(compgen -W "$("$1" --help 2>/dev/null |
		sed -nE 's/^  (-.), /  \1 /; s/^  (-. )?(--[a-z-]+=?).*/\1\2/p')" -- "$cur"))
	if [[ ${COMPREPLY-} == *= ]]; then
		compopt -o nospace
	fi
}

_pg_pardump()
{
	local cur prev words cword split
	_init_completion -s || return

	case $prev in
		-f | --file | --verify | --incremental | --report-history)
			_filedir -d
			return
			;;
		--filter | --mask-file | --pg-dump | --log-json | --report | --plan | --compare-with | --metrics | --shared-snapshot)
			_filedir
			return
			;;
		-F | --format)
			COMPREPLY=($(compgen -W 'd directory' -- "$cur"))
			return
			;;
		-Z | --compress)
			COMPREPLY=($(compgen -W 'none gzip lz4 zstd server-none server-gzip
				server-lz4 server-zstd' -- "$cur"))
			return
			;;
		--section)
			COMPREPLY=($(compgen -W 'pre-data data post-data' -- "$cur"))
			return
			;;
		--sync-method)
			COMPREPLY=($(compgen -W 'fsync syncfs' -- "$cur"))
			return
			;;
		--copy-format)
			COMPREPLY=($(compgen -W 'auto raw binary text' -- "$cur"))
			return
			;;
		--wire-compression)
			COMPREPLY=($(compgen -W 'auto none lz4 zstd' -- "$cur"))
			return
			;;
		--toast-compression)
			COMPREPLY=($(compgen -W 'default lz4 pglz' -- "$cur"))
			return
			;;
		--incremental-by)
			COMPREPLY=($(compgen -W 'fingerprints wal-summaries' -- "$cur"))
			return
			;;
		--incremental-copy-method)
			COMPREPLY=($(compgen -W 'link clone copy' -- "$cur"))
			return
			;;
		--manifest-checksums)
			COMPREPLY=($(compgen -W 'CRC32C SHA224 SHA256 SHA384 SHA512 NONE' -- "$cur"))
			return
			;;
		--slot-plugin)
			COMPREPLY=($(compgen -W 'pgoutput test_decoding' -- "$cur"))
			return
			;;
		-E | --encoding)
			_pg_pardump_query 'SELECT DISTINCT pg_encoding_to_char(conforencoding) FROM pg_conversion'
			return
			;;
		-n | --schema | -N | --exclude-schema)
			_pg_pardump_query 'SELECT nspname FROM pg_namespace'
			return
			;;
		-t | --table | -T | --exclude-table | --exclude-table-data | --table-and-children | \
			--exclude-table-and-children | --exclude-table-data-and-children)
			_pg_pardump_query_tables
			return
			;;
		--where | --sample | --mask)
			# up to the colon; the user types the text after it
			_pg_pardump_query_tables
			compopt -o nospace
			return
			;;
		-e | --extension | --exclude-extension)
			_pg_pardump_query 'SELECT extname FROM pg_extension'
			return
			;;
		-U | --username | --role | -S | --superuser)
			_pg_pardump_query 'SELECT rolname FROM pg_roles'
			return
			;;
		--publication)
			_pg_pardump_query 'SELECT pubname FROM pg_publication'
			return
			;;
		-h | --host)
			_known_hosts_real -- "$cur"
			return
			;;
		-d | --dbname | --exclude-database)
			_pg_pardump_query "$_pg_pardump_databases"
			return
			;;
	esac
	$split && return
	# a number, say
	_pg_pardump_takes_value "$1" "$prev" && return

	if [[ $cur == -* ]]; then
		_pg_pardump_options "$1"
		return
	fi
	_pg_pardump_query "$_pg_pardump_databases"
} &&
	complete -F _pg_pardump pg_pardump

# Names of what is in an archive, which no server knows, are left to the user.
_pg_parrestore()
{
	local cur prev words cword split
	_init_completion -s || return

	case $prev in
		-f | --file | --filter | -L | --use-list | --pg-restore | --log-json | --report | --metrics)
			_filedir
			return
			;;
		--report-history)
			_filedir -d
			return
			;;
		-F | --format)
			COMPREPLY=($(compgen -W 'c custom d directory t tar' -- "$cur"))
			return
			;;
		--section)
			COMPREPLY=($(compgen -W 'pre-data data post-data' -- "$cur"))
			return
			;;
		--toast-compression)
			COMPREPLY=($(compgen -W 'default lz4 pglz' -- "$cur"))
			return
			;;
		-U | --username | --role | -S | --superuser)
			_pg_pardump_query 'SELECT rolname FROM pg_roles'
			return
			;;
		-h | --host)
			_known_hosts_real -- "$cur"
			return
			;;
		-d | --dbname)
			_pg_pardump_query "$_pg_pardump_databases"
			return
			;;
	esac
	$split && return
	# a number, say
	_pg_pardump_takes_value "$1" "$prev" && return

	if [[ $cur == -* ]]; then
		_pg_pardump_options "$1"
		return
	fi
	_filedir
} &&
	complete -F _pg_parrestore pg_parrestore

_pg_parbasebackup()
{
	local cur prev words cword split
	_init_completion -s || return

	case $prev in
		-D | --pgdata | --waldir | --extract | --report-history)
			_filedir -d
			return
			;;
		--log-json | --report | --metrics)
			_filedir
			return
			;;
		-F | --format)
			COMPREPLY=($(compgen -W 'p plain t tar' -- "$cur"))
			return
			;;
		-X | --wal-method)
			COMPREPLY=($(compgen -W 'none fetch stream' -- "$cur"))
			return
			;;
		-Z | --compress)
			COMPREPLY=($(compgen -W 'none lz4 zstd server-none server-lz4 server-zstd' -- "$cur"))
			return
			;;
		-c | --checkpoint)
			COMPREPLY=($(compgen -W 'fast spread' -- "$cur"))
			return
			;;
		--manifest-checksums)
			COMPREPLY=($(compgen -W 'CRC32C NONE' -- "$cur"))
			return
			;;
		--sync-method)
			COMPREPLY=($(compgen -W 'fsync syncfs' -- "$cur"))
			return
			;;
		-U | --username)
			_pg_pardump_query 'SELECT rolname FROM pg_roles'
			return
			;;
		-h | --host)
			_known_hosts_real -- "$cur"
			return
			;;
	esac
	$split && return
	# a number, say
	_pg_pardump_takes_value "$1" "$prev" && return
	_pg_pardump_options "$1"
} &&
	complete -F _pg_parbasebackup pg_parbasebackup

_pg_pardump_backup()
{
	local cur prev words cword split
	_init_completion -s || return

	if [[ $cur == -* ]]; then
		_pg_pardump_options "$1"
		return
	fi
	_filedir conf
} &&
	complete -F _pg_pardump_backup pg_pardump_backup
