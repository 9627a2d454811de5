/*-------------------------------------------------------------------------
 *
 * decode_json.c
 *	  Decoder of json, whose value is its text, if that is valid.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"	/* brings varatt.h where there is one */
#include "miscadmin.h"
#include "utils/fmgroids.h"

#include "bytes/read_hex.h"
#include "decode/decode_json.h"
#include "decode/json_scan.h"

/* The escape whose backslash is at *p. */
static bool
scan_escape(const char **p, const char *end)
{
	if (end - *p < 2)
		return false;
	switch ((*p)[1])
	{
		case '"':
		case '\\':
		case '/':
		case 'b':
		case 'f':
		case 'n':
		case 'r':
		case 't':
			*p += 2;
			return true;
		case 'u':
			/* json_in() does not ask which character it is */
			if (end - *p < 6)
				return false;
			*p += 6;
			return is_hex_digit((*p)[-4]) && is_hex_digit((*p)[-3]) &&
				is_hex_digit((*p)[-2]) && is_hex_digit((*p)[-1]);
		default:
			return false;
	}
}

/* The string whose opening quote is at *p. */
static inline bool
scan_string(const char **p, const char *end)
{
	(*p)++;
	for (;;)
	{
		*p = find_json_special(*p, end);
		if (*p == end)
			return false;
		if (**p == '"')
		{
			(*p)++;
			return true;
		}
		if (**p != '\\' || !scan_escape(p, end))
			return false;
	}
}

static bool scan_value(const char **p, const char *end, int depth);

/* The elements or members of what has been opened before *p, and its end. */
static bool
scan_members(const char **p, const char *end, bool is_object, int depth)
{
	char		close = is_object ? '}' : ']';

	CHECK_FOR_INTERRUPTS();
	*p = skip_json_space(*p, end);
	if (*p < end && **p == close)
	{
		(*p)++;
		return true;
	}
	do
	{
		if (is_object &&
			(*p == end || **p != '"' || !scan_string(p, end) ||
			 !scan_json_char(p, end, ':')))
			return false;
		if (!scan_value(p, end, depth))
			return false;
	} while (scan_json_char(p, end, ','));

	*p = skip_json_space(*p, end);
	return *p < end && *(*p)++ == close;
}

static bool
scan_value(const char **p, const char *end, int depth)
{
	bool		has_exponent;

	if (*p == end || depth > MAX_JSON_DEPTH)
		return false;
	switch (**p)
	{
		case '{':
		case '[':
			(*p)++;
			return scan_members(p, end, (*p)[-1] == '{', depth + 1);
		case '"':
			return scan_string(p, end);
		case 't':
			return scan_json_word(p, end, "true", 4);
		case 'f':
			return scan_json_word(p, end, "false", 5);
		case 'n':
			return scan_json_word(p, end, "null", 4);
		default:
			return scan_json_number(p, end, &has_exponent);
	}
}

static bool
decode_json(ColumnDecoder *decoder, const char *text, Size len, Datum *value)
{
	const char *end = text + len;
	const char *p = skip_json_space(text, end);
	struct varlena *result;

	if (!scan_value(&p, end, 0) || skip_json_space(p, end) != end)
		return false;
	result = value_alloc(decoder, len + VARHDRSZ);
	SET_VARSIZE(result, len + VARHDRSZ);
	memcpy(VARDATA(result), text, len);
	*value = PointerGetDatum(result);
	return true;
}

DecodeFunction
json_decoder(Oid input_function, ColumnDecoder *decoder)
{
	return input_function == F_JSON_IN ? decode_json : NULL;
}
