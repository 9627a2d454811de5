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

static char *
send_bool(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	*to = DatumGetBool(value) ? 1 : 0;
	return to + 1;
}

static char *
send_char(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	*to = DatumGetChar(value);
	return to + 1;
}

static char *
send_int2(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	return put_network_16(to, DatumGetInt16(value));
}

/* What has 32 bits: a float's are those of an integer in a Datum, too. */
static char *
send_int4(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	return put_network_32(to, DatumGetInt32(value));
}

static char *
send_int8(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	return put_network_64(to, DatumGetInt64(value));
}

static char *
send_timetz(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	const TimeTzADT *timetz = DatumGetTimeTzADTP(value);

	to = put_network_64(to, timetz->time);
	return put_network_32(to, timetz->zone);
}

static char *
send_interval(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	const Interval *interval = DatumGetIntervalP(value);

	to = put_network_64(to, interval->time);
	to = put_network_32(to, interval->day);
	return put_network_32(to, interval->month);
}

static char *
send_uuid(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	return byte_buffer_append(out, to, DatumGetPointer(value), UUID_LEN);
}

static char *
send_macaddr(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	return byte_buffer_append(out, to, DatumGetPointer(value), sizeof(macaddr));
}

static char *
send_macaddr8(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	return byte_buffer_append(out, to, DatumGetPointer(value), sizeof(macaddr8));
}

static char *
send_bytea(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	struct varlena *packed = packed_varlena(value);

	to = byte_buffer_append(out, to, VARDATA_ANY(packed),
							VARSIZE_ANY_EXHDR(packed));
	packed_varlena_release(packed, value);
	return to;
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
