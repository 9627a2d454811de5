#!/bin/bash
#
# build.sh: build the module that compares decoders with input functions.
#
# usage: test/decode/build.sh MODULE.so [COMPILER ARGUMENT...]
#
# For the server of $PG_CONFIG, of what decoders stand on alone: no compression
# library is linked.

set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
pg_config=${PG_CONFIG:-pg_config}
module=$1
shift

"${CC:-cc}" -shared -fPIC -w -g -O2 -D_GNU_SOURCE -fwrapv -fno-strict-aliasing \
	-Wl,-Bsymbolic "$@" \
	-I"$top/src" -I"$top/src/server" -I"$("$pg_config" --includedir-server)" \
	"$top"/test/decode/decode_test.c "$top"/src/server/types/*.c \
	"$top"/src/server/bytes/{byte_buffer,escape,pglz}.c \
	-o "$module"
