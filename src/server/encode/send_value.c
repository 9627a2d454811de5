/*-------------------------------------------------------------------------
 *
 * send_value.c
 *	  Encoders of the types whose binary form is nearly their stored form:
 *	  numbers in network byte order, and bytes as they are.
 *
 * They write what the types' send functions return (src/backend/utils/adt).
 * Others that have a binary form here are with the encoders of their text:
 * text, jsonb, numeric, network addresses, arrays.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/date.h"
#include "utils/fmgroids.h"
#include "utils/inet.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#include "bytes/network_order.h"
#include "bytes/packed_varlena.h"
#include "encode/send_value.h"

static void
send_bool(ColumnEncoder *encoder, Datum value, ByteBuffer *out)
{
	byte_buffer_append_char(out, DatumGetBool(value) ? 1 : 0);
}

static void
send_char(ColumnEncoder *encoder, Datum value, ByteBuffer *out)
{
	byte_buffer_append_char(out, DatumGetChar(value));
}

static void
send_int2(ColumnEncoder *encoder, Datum value, ByteBuffer *out)
{
	char	   *p = byte_buffer_reserve(out, sizeof(int16));

	byte_buffer_commit(out, put_network_16(p, DatumGetInt16(value)));
}

/* What has 32 bits: a float's are those of an integer in a Datum, too. */
static void
send_int4(ColumnEncoder *encoder, Datum value, ByteBuffer *out)
{
	char	   *p = byte_buffer_reserve(out, sizeof(int32));

	byte_buffer_commit(out, put_network_32(p, DatumGetInt32(value)));
}

static void
send_int8(ColumnEncoder *encoder, Datum value, ByteBuffer *out)
{
	char	   *p = byte_buffer_reserve(out, sizeof(int64));

	byte_buffer_commit(out, put_network_64(p, DatumGetInt64(value)));
}

static void
send_timetz(ColumnEncoder *encoder, Datum value, ByteBuffer *out)
{
	const TimeTzADT *timetz = DatumGetTimeTzADTP(value);
	char	   *p = byte_buffer_reserve(out, sizeof(int64) + sizeof(int32));

	p = put_network_64(p, timetz->time);
	byte_buffer_commit(out, put_network_32(p, timetz->zone));
}

static void
send_interval(ColumnEncoder *encoder, Datum value, ByteBuffer *out)
{
	const Interval *interval = DatumGetIntervalP(value);
	char	   *p = byte_buffer_reserve(out, sizeof(int64) + 2 * sizeof(int32));

	p = put_network_64(p, interval->time);
	p = put_network_32(p, interval->day);
	byte_buffer_commit(out, put_network_32(p, interval->month));
}

static void
send_uuid(ColumnEncoder *encoder, Datum value, ByteBuffer *out)
{
	byte_buffer_append(out, DatumGetPointer(value), UUID_LEN);
}

static void
send_macaddr(ColumnEncoder *encoder, Datum value, ByteBuffer *out)
{
	byte_buffer_append(out, DatumGetPointer(value), sizeof(macaddr));
}

static void
send_macaddr8(ColumnEncoder *encoder, Datum value, ByteBuffer *out)
{
	byte_buffer_append(out, DatumGetPointer(value), sizeof(macaddr8));
}

static void
send_bytea(ColumnEncoder *encoder, Datum value, ByteBuffer *out)
{
	struct varlena *packed = packed_varlena(value);

	byte_buffer_append(out, VARDATA_ANY(packed), VARSIZE_ANY_EXHDR(packed));
	packed_varlena_release(packed, value);
}

EncodeFunction
value_sender(Oid type_function)
{
	switch (type_function)
	{
		case F_BOOLSEND:
			return send_bool;
		case F_CHARSEND:
			return send_char;
		case F_INT2SEND:
			return send_int2;
		case F_INT4SEND:
		case F_OIDSEND:
		case F_XIDSEND:
		case F_CIDSEND:
		case F_DATE_SEND:
		case F_FLOAT4SEND:
			return send_int4;
		case F_INT8SEND:
		case F_XID8SEND:
		case F_TIME_SEND:
		case F_TIMESTAMP_SEND:
		case F_TIMESTAMPTZ_SEND:
		case F_FLOAT8SEND:
			return send_int8;
		case F_TIMETZ_SEND:
			return send_timetz;
		case F_INTERVAL_SEND:
			return send_interval;
		case F_UUID_SEND:
			return send_uuid;
		case F_MACADDR_SEND:
			return send_macaddr;
		case F_MACADDR8_SEND:
			return send_macaddr8;
		case F_BYTEASEND:
			return send_bytea;
		default:
			return NULL;
	}
}
