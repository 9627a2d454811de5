#!/bin/bash
#
# run.sh: test the server's scanning of bytes in its variants, by SSE2, NEON
# and without, against byte-by-byte references on random input.
#
# usage: test/simd/run.sh [SEED]
#
# Of the variants for other processors those run whose cross compiler and
# emulator are there (Debian: gcc-aarch64-linux-gnu for NEON,
# gcc-s390x-linux-gnu for big-endian, qemu-user-static).  They borrow this
# machine's PostgreSQL headers, which serve as long as it is 64-bit, too.

set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
pg_config=${PG_CONFIG:-pg_config}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Arguments: name, emulator or "env", compiler and its further arguments.
# Unused functions go, and with them what they need of the server.
run_variant()
{
	local name=$1 emulator=$2

	shift 2
	if ! [ -x "$(command -v "$1")" ] || ! [ -x "$(command -v "$emulator")" ]; then
		echo "$name: left out, there is no $1 or no $emulator"
		return
	fi
	"$@" -w -g -O2 -D_GNU_SOURCE -ffunction-sections -Wl,--gc-sections \
		-I"$top/src" -I"$top/src/server" -I"$("$pg_config" --includedir-server)" \
		"$top"/test/simd/test_simd.c "$top"/src/server/bytes/{escape,pglz}.c "$top"/src/server/load/row_reader.c \
		-o "$work/test"
	echo -n "$name: "
	"$emulator" "$work/test" "$seed"
}

seed=${1:-$RANDOM}
run_variant "native" env "${CC:-cc}"
run_variant "native, sanitized" env "${CC:-cc}" -fsanitize=address,undefined \
	-fno-sanitize-recover
run_variant "native, portable" env "${CC:-cc}" -DPARDUMP_NO_SIMD
run_variant "aarch64" qemu-aarch64-static aarch64-linux-gnu-gcc -static
run_variant "aarch64, portable" qemu-aarch64-static aarch64-linux-gnu-gcc -static \
	-DPARDUMP_NO_SIMD
run_variant "s390x, big-endian" qemu-s390x-static s390x-linux-gnu-gcc -static \
	-DWORDS_BIGENDIAN
