#!/bin/bash
#
# run.sh: fuzz the readers of untrusted bytes, under AddressSanitizer and
# UndefinedBehaviorSanitizer.
#
# usage: test/fuzz/run.sh [SECONDS [TARGET...]]
#
# Builds each target (toc, manifest, decompress) with clang's libFuzzer into a
# temporary directory and runs it for so many seconds (20) on its corpus.  What
# it finds is kept in the current directory as crash-*; the exit code is 0 if
# nothing was found.  PG_CONFIG and CLANG may name other programs.

set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
seconds=${1:-20}
[ $# -gt 0 ] && shift
targets=${*:-toc manifest decompress}
pg_config=${PG_CONFIG:-pg_config}
clang=${CLANG:-$(compgen -c clang | grep -E '^clang(-[0-9]+)?$' | sort -V | tail -1)}
[ -n "$clang" ] || { echo "run.sh: error: no clang" >&2; exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
f=$top/src/frontend
declare -A sources=(
	[toc]="$f/toc_read.c"
	[manifest]="$f/manifest_read.c $f/json_reader.c $f/manifest_write.c $f/sink_tap.c"
	[decompress]="$f/decompress.c $top/src/shared/compress_spec.c")
for target in $targets
do
	# shellcheck disable=SC2086
	"$clang" -w -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
		-D_GNU_SOURCE -DFRONTEND -I"$($pg_config --includedir)" \
		-I"$($pg_config --includedir-server)" \
		-I"$($pg_config --pkgincludedir)/internal" -I"$f" -I"$top/src" \
		"$top/test/fuzz/fuzz_$target.c" ${sources[$target]} -o "$work/$target" \
		-L"$($pg_config --pkglibdir)" -L"$($pg_config --libdir)" \
		"$f/message.c" "$f/event_log.c" "$f/json_text.c" "$f/sink.c" -lpgfeutils -lpgcommon -lpgport -lpq -lzstd -llz4 -lz -lcrypto -lm
	mkdir "$work/new"
	echo "fuzzing $target for $seconds s"
	# a claimed size must not be believed: no single allocation beyond what
	# zstd's largest window needs
	"$work/$target" -max_total_time="$seconds" -max_len=65536 -timeout=10 \
		-malloc_limit_mb=256 -rss_limit_mb=2048 -print_final_stats=1 \
		"$work/new" "$top/test/fuzz/corpus/$target" 2>"$work/log" ||
		{ tail -40 "$work/log" >&2; exit 1; }
	grep -E 'number_of_executed_units|peak_rss' "$work/log"
	rm -r "$work/new"
done
