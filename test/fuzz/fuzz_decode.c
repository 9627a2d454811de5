/*
 * fuzz_decode.c
 *		A field of COPY, decoded by any of the decoders: within the bytes of
 *		the field and its padding, within what it allocates, and with the same
 *		result for any bytes of padding.
 *
 * The first byte says which type; arrays of it from 0x80 on.  Whether values
 * are right, t/128_decoders.pl tells, which has the input functions.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/datetime.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "types/choose.h"
#include "types/family.h"
#include "fuzz_memory.h"

static const DecoderRow *const families[] = {
	number_decoders, numeric_decoders, text_decoders, datetime_decoders,
	network_decoders, json_decoders, jsonb_decoders
};

typedef struct FuzzedType
{
	Oid			input_function;
	int32		typmod;
	int16		typlen;
	bool		typbyval;
} FuzzedType;

static const FuzzedType types[] = {
	{F_BOOLIN, -1, 1, true}, {F_INT2IN, -1, 2, true}, {F_INT4IN, -1, 4, true},
	{F_INT8IN, -1, 8, true}, {F_OIDIN, -1, 4, true}, {F_XID8IN, -1, 8, true},
	{F_FLOAT4IN, -1, 4, true}, {F_FLOAT8IN, -1, 8, true},
	{F_NUMERIC_IN, -1, -1, false},
	{F_NUMERIC_IN, (12 << 16 | 2) + VARHDRSZ, -1, false},
	{F_TEXTIN, -1, -1, false}, {F_VARCHARIN, 5 + VARHDRSZ, -1, false},
	{F_BPCHARIN, 20 + VARHDRSZ, -1, false}, {F_NAMEIN, -1, NAMEDATALEN, false},
	{F_CHARIN, -1, 1, true}, {F_DATE_IN, -1, 4, true},
	{F_TIME_IN, -1, 8, true}, {F_TIMETZ_IN, -1, 12, false},
	{F_TIMESTAMP_IN, -1, 8, true}, {F_TIMESTAMP_IN, 3, 8, true},
	{F_TIMESTAMPTZ_IN, -1, 8, true}, {F_INTERVAL_IN, -1, 16, false},
	{F_UUID_IN, -1, 16, false}, {F_BYTEAIN, -1, -1, false},
	{F_MACADDR_IN, -1, 6, false}, {F_MACADDR8_IN, -1, 8, false},
	{F_INET_IN, -1, -1, false}, {F_CIDR_IN, -1, -1, false},
	{F_JSON_IN, -1, -1, false}, {F_JSONB_IN, -1, -1, false}
};

static const FuzzedType *type;	/* of this input */
static ValueSpace no_space;		/* so that each value is allocated */

/* ----------
 * The server's, for what is outside of it
 * ----------
 */

int			IntervalStyle = INTSTYLE_POSTGRES;
bool		Array_nulls = true;
volatile sig_atomic_t InterruptPending = false;

void
ProcessInterrupts(void)
{
}

/* Decoders raise no error. */
bool
errstart(int elevel, const char *domain)
{
	abort();
}

bool
errstart_cold(int elevel, const char *domain)
{
	abort();
}

int
errmsg_internal(const char *fmt,...)
{
	abort();
}

void
errfinish(const char *filename, int lineno, const char *funcname)
{
	abort();
}

/* The number of a day is nothing that memory depends on. */
int
date2j(int year, int month, int day)
{
	return (year * MONTHS_PER_YEAR + month) * 31 + day;
}

const int	day_tab[2][13] = {
	{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31, 0},
	{31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31, 0}
};

/* As if all characters had one byte. */
int
pg_mbstrlen_with_len(const char *mbstr, int limit)
{
	return limit;
}

Oid
get_element_type(Oid typid)
{
	return 1;
}

void
get_type_io_data(Oid typid, IOFuncSelector which_func, int16 *typlen,
				 bool *typbyval, char *typalign, char *typdelim,
				 Oid *typioparam, Oid *func)
{
	*typlen = type->typlen;
	*typbyval = type->typbyval;
	*typalign = TYPALIGN_INT;
	*typdelim = ',';
}

/* Look at all bytes of a value, and tell their number. */
static Size
look_at(Datum value)
{
	const char *bytes = DatumGetPointer(value);
	Size		size = type->typlen;
	volatile char seen;

	if (type->typbyval)
		return size;
	if (type->typlen == -1)
		size = VARSIZE(bytes);
	for (Size i = 0; i < size; i++)
		seen = bytes[i];
	return size;
}

ArrayType *
construct_empty_array(Oid elmtype)
{
	return palloc0(sizeof(ArrayType));
}

/* ---------- */

/* The decoder of the type of this input: the OID is not a type's. */
void
choose_decoder(ColumnDecoder *decoder, ValueSpace *space, Oid type_id,
			   int32 typmod)
{
	memset(decoder, 0, sizeof(ColumnDecoder));
	decoder->space = space;
	decoder->typmod = type->typmod;
	for (int i = 0; i < lengthof(families) && decoder->decode == NULL; i++)
		for (const DecoderRow *row = families[i]; row->input_function; row++)
			if (row->input_function == type->input_function)
				decoder->decode = decoder_of_row(row, decoder);
	if (decoder->decode == NULL)
		abort();
}

/* Decode in a place of its own, with this padding. */
static bool
decode_padded(ColumnDecoder *decoder, const uint8 *data, size_t size,
			  char padding, Datum *value)
{
	char	   *text = malloc(size + FIELD_PADDING);
	bool		decoded;

	memcpy(text, data, size);
	memset(text + size, padding, FIELD_PADDING);
	decoded = decoder->decode(decoder, text, size, value);
	free(text);
	return decoded;
}

int
LLVMFuzzerTestOneInput(const uint8 *data, size_t size)
{
	static const char paddings[] = "\0000}\",:\\\t";
	ColumnDecoder decoder;
	bool		is_array;
	bool		first_decoded = false;
	Datum		first = (Datum) 0;

	if (size < 1 || memchr(data + 1, 0, size - 1) != NULL)
		return 0;
	type = &types[(data[0] & 0x7f) % lengthof(types)];
	is_array = (data[0] & 0x80) != 0;
	if (is_array)
	{
		memset(&decoder, 0, sizeof(decoder));
		decoder.space = &no_space;
		decoder.decode = array_decoder(F_ARRAY_IN, &decoder);
	}
	else
		choose_decoder(&decoder, &no_space, InvalidOid, -1);

	for (int i = 0; i < sizeof(paddings); i++)
	{
		Datum		value;
		bool		decoded = decode_padded(&decoder, data + 1, size - 1,
											paddings[i], &value);

		if (i == 0)
			first_decoded = decoded;
		if (decoded != first_decoded)
			abort();
		if (!decoded || is_array)
			continue;
		look_at(value);
		if (i == 0)
			first = value;
		else if (type->typbyval ? value != first :
				 look_at(value) != look_at(first) ||
				 memcmp(DatumGetPointer(value), DatumGetPointer(first),
						look_at(first)) != 0)
			abort();
	}
	free_all();
	return 0;
}
