# bash completion for pg_pardump.  The options are those of its --help.

_pg_pardump()
{
	local cur prev words cword split
	_init_completion -s || return

	case $prev in
		-f | --file)
			_filedir -d
			return
			;;
		--filter | --pg-dump | --log-json)
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
			COMPREPLY=($(compgen -W 'auto binary text' -- "$cur"))
			return
			;;
		-h | --host)
			_known_hosts_real -- "$cur"
			return
			;;
		-d | --dbname)
			COMPREPLY=($(compgen -W "$(psql -XAtqwlF ' ' 2>/dev/null | cut -d ' ' -f 1)" -- "$cur"))
			return
			;;
	esac
	$split && return

	if [[ $cur == -* ]]; then
		COMPREPLY=($(compgen -W "$("$1" --help 2>/dev/null |
			sed -nE 's/^  (-.), /  \1 /; s/^  (-. )?(--[a-z-]+=?).*/\1\2/p')" -- "$cur"))
		if [[ ${COMPREPLY-} == *= ]]; then
			compopt -o nospace
		fi
		return
	fi
	COMPREPLY=($(compgen -W "$(psql -XAtqwlF ' ' 2>/dev/null | cut -d ' ' -f 1)" -- "$cur"))
} &&
	complete -F _pg_pardump pg_pardump
