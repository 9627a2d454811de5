#!/bin/bash
#
# run.sh: fuzz the readers of untrusted bytes, under AddressSanitizer and
# UndefinedBehaviorSanitizer.
#
# usage: test/fuzz/run.sh [--merge] [SECONDS [TARGET...]]
#
# Builds each target (toc, custom, manifest, map, plan, results, decompress, frame,
# tar, lines, decode, raw) with clang's libFuzzer into a temporary directory and
# runs it for SECONDS (20) on its corpus.  Inputs that fail are kept in the current
# directory as crash-*; the exit code is 0 if nothing was found, 77 if there is no
# clang with libFuzzer.
# PG_CONFIG and CLANG may name other programs.
#
#   --merge   make the corpus again from the fewest inputs that reach most code

set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
merge=no
if [ "${1:-}" = --merge ]; then
	merge=yes
	shift
fi
seconds=${1:-20}
[ $# -gt 0 ] && shift
targets=${*:-toc custom manifest map plan results decompress frame tar lines decode raw}
pg_config=${PG_CONFIG:-pg_config}
clang=${CLANG:-clang}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' >"$work/probe.c"
if ! "$clang" -fsanitize=fuzzer "$work/probe.c" -o "$work/probe" 2>"$work/log"
then
	echo "run.sh: error: no clang with libFuzzer" >&2
	exit 77
fi
f=$top/src/frontend
s=$top/src/server
declare -A sources=(
	[toc]="$f/archive/toc_file.c $f/archive/toc.c"
	[custom]="$f/archive/toc_file.c $f/archive/toc.c $f/archive/archive_member.c
		$f/archive/archive_open.c $f/archive/archive_name.c $f/stream/decompress.c
		$f/stream/regular_file.c $f/stream/text_pieces.c $top/src/shared/compress.c"
	[manifest]="$f/archive/manifest.c $f/stream/regular_file.c"
	[map]="$f/cluster/cluster_map.c $f/archive/manifest.c"
	[plan]="$f/tasks/task_plan.c"
	[results]="$f/tasks/task_plan.c $f/options/own_options.c"
	[decompress]="$f/stream/decompress.c $top/src/shared/compress.c"
	[frame]="$f/basebackup/tar_archive.c $f/stream/decompress.c $top/src/shared/compress.c"
	[tar]="$f/extract/tar_reader.c"
	[lines]="$s/load/row_reader.c"
	[raw]="$s/load/raw_loader.c $s/read/heap_reader.c"
	[decode]="$(echo "$s"/types/{number,numeric,datetime,text,json,jsonb,array,network}.c) $s/bytes/escape.c")
# what a target does not reach may call functions that are not there
compile=("$clang" -w -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined
	-fno-pie -no-pie -Wl,--unresolved-symbols=ignore-all
	-D_GNU_SOURCE -I"$($pg_config --includedir-server)")
frontend=(-DFRONTEND -I"$($pg_config --includedir)" -I"$($pg_config --pkgincludedir)/internal"
	-I"$f" -I"$top/src")
mkdir "$work/base"
for target in $targets
do
	# shellcheck disable=SC2086
	if [[ ${sources[$target]} = "$s"/* ]]; then
		# of the server's side, with what it needs of the server in the target
		"${compile[@]}" -I"$s" -I"$top/src" \
			"$top/test/fuzz/fuzz_$target.c" ${sources[$target]} -o "$work/$target" \
			-L"$($pg_config --pkglibdir)" -lpgport
	else
		# what all of the frontend stand on is compiled once
		if [ ! -e "$work/base/sink.o" ]; then
			(cd "$work/base" && "${compile[@]}" "${frontend[@]}" -c \
				"$f"/base/{message,clock,interrupt,units,json,json_fields,hex,buffer,checksum}.c \
				"$f/stream/sink.c")
		fi
		"${compile[@]}" "${frontend[@]}" \
			"$top/test/fuzz/fuzz_$target.c" ${sources[$target]} "$work"/base/*.o -o "$work/$target" \
			-L"$($pg_config --pkglibdir)" -L"$($pg_config --libdir)" \
			-lpgfeutils -lpgcommon -lpgport -lpq -lzstd -llz4 -lz -lcrypto -lm
	fi
	mkdir "$work/new" "$work/merged"
	corpus=$top/test/fuzz/corpus/$target
	echo "fuzzing $target for $seconds s"
	# a claimed size must not be believed: no single allocation beyond what
	# zstd's largest window needs
	"$work/$target" -max_total_time="$seconds" -max_len=65536 -timeout=60 \
		-malloc_limit_mb=256 -rss_limit_mb=2048 -print_final_stats=1 \
		"$work/new" "$corpus" 2>"$work/log" ||
		{ tail -40 "$work/log" >&2; exit 1; }
	grep -E 'number_of_executed_units|peak_rss' "$work/log"
	if [ $merge = yes ]; then
		# by code reached, not by how often: fewer files
		"$work/$target" -merge=1 -use_counters=0 -max_len=4096 \
			"$work/merged" "$work/new" "$corpus" 2>"$work/log" ||
			{ tail -40 "$work/log" >&2; exit 1; }
		rm -r "$corpus"
		mv "$work/merged" "$corpus"
	fi
	rm -rf "$work/new" "$work/merged"
done
