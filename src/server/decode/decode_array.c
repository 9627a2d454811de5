/*-------------------------------------------------------------------------
 *
 * decode_array.c
 *	  Decoder of arrays of types that have a decoder.
 *
 * Reads what array_out() (src/backend/utils/adt/arrayfuncs.c) writes of an
 * array of one dimension that begins at 1, and of an empty one.  White space
 * between elements, and whatever else array_in() takes, is left to it, as are
 * arrays of which the element's decoder declines an element.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/array.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "bytes/byte_block.h"
#include "decode/decode_array.h"

/* Of longer texts array_in() may make what memory there is for. */
#define MAX_ARRAY_TEXT		(1024 * 1024)

typedef struct ArrayDecoder
{
	ColumnDecoder element;
	int16		typlen;
	bool		typbyval;
	char		typalign;
	char		delimiter;
} ArrayDecoder;

/* An element's text, and whether it is the word NULL. */
typedef struct ElementText
{
	const char *text;
	Size		len;
	bool		is_null;
} ElementText;

/* The first quote or backslash; behind the end if there is none. */
static inline const char *
find_quote(const char *p, const char *end)
{
	for (; p < end; p += BYTE_BLOCK_SIZE)
	{
		ByteBlock	block = byte_block_load(p);
		ByteBlock	flags = byte_block_or(byte_block_eq(block, '"'),
										  byte_block_eq(block, '\\'));

		if (byte_block_any(flags))
			return p + byte_block_first(flags);
	}
	return end;
}

/* The quote that closes an element, from its first backslash on; or NULL. */
static const char *
find_end(const char *from, const char *end)
{
	while (from < end && *from != '"')
		from = find_quote(from + 2, end);
	return from < end ? from : NULL;
}

/*
 * Read an element whose opening quote stands at *p.  A copy is made of one
 * with backslashes, with padding.
 */
static bool
read_quoted(const char **p, const char *end, ElementText *element)
{
	const char *start = *p + 1;
	const char *from = find_quote(start, end);
	const char *close;
	char	   *copy;
	char	   *to;

	element->text = start;
	element->len = from - start;
	element->is_null = false;
	if (likely(from < end && *from == '"'))
	{
		*p = from + 1;
		return true;
	}

	close = find_end(from, end);
	if (close == NULL)
		return false;
	copy = palloc(close - start + FIELD_PADDING);
	to = copy;
	for (from = start; from < close; from++)
	{
		if (*from == '\\')
			from++;
		*to++ = *from;
	}
	memset(to, 0, FIELD_PADDING);
	element->text = copy;
	element->len = to - copy;
	*p = close + 1;
	return true;
}

/* Read an element without quotes: nothing in it is special or white space. */
static inline bool
read_unquoted(const char **p, const char *end, char delimiter,
			  ElementText *element)
{
	const char *start = *p;
	const char *from;

	for (from = start; from < end && *from != delimiter && *from != '}'; from++)
	{
		if (*from == '"' || *from == '\\' || *from == '{' ||
			(unsigned char) *from <= ' ')
			return false;
	}
	element->text = start;
	element->len = from - start;
	element->is_null = element->len == 4 &&
		pg_strncasecmp(start, "NULL", 4) == 0;
	*p = from;
	return from > start;
}

/*
 * Read all elements, the text between the braces up to "end", where the
 * closing one is.  Returns how many they are, or -1.
 */
static int
read_elements(ArrayDecoder *array, const char *p, const char *end,
			  Datum *values, bool *nulls)
{
	ColumnDecoder *decoder = &array->element;
	int			n = 0;

	for (;;)
	{
		ElementText element;
		bool		found;

		found = *p == '"' ? read_quoted(&p, end, &element) :
			read_unquoted(&p, end, array->delimiter, &element);
		if (!found)
			return -1;
		nulls[n] = element.is_null;
		values[n] = (Datum) 0;
		if (!element.is_null &&
			!decoder->decode(decoder, element.text, element.len, &values[n]))
			return -1;
		n++;
		if (p == end)
			return n;
		/* a delimiter must be between two elements */
		if (p > end || *p != array->delimiter || ++p == end)
			return -1;
	}
}

static bool
decode_array(ColumnDecoder *decoder, const char *text, Size len, Datum *value)
{
	ArrayDecoder *array = decoder->state;
	Oid			element_type = array->element.type_id;
	Datum	   *values;
	bool	   *nulls;
	int			n;
	int			lower_bound = 1;

	if (len < 2 || len > MAX_ARRAY_TEXT || text[0] != '{' ||
		text[len - 1] != '}')
		return false;
	if (len == 2)
	{
		*value = PointerGetDatum(construct_empty_array(element_type));
		return true;
	}
	/* each element has a byte at least, and one between it and the next */
	values = palloc(len / 2 * sizeof(Datum));
	nulls = palloc(len / 2 * sizeof(bool));
	n = read_elements(array, text + 1, text + len - 1, values, nulls);
	if (n < 0)
		return false;
	*value = PointerGetDatum(construct_md_array(values, nulls, 1, &n,
												&lower_bound, element_type,
												array->typlen,
												array->typbyval,
												array->typalign));
	return true;
}

DecodeFunction
array_decoder(Oid input_function, ColumnDecoder *decoder,
			  ColumnDecoder **element)
{
	ArrayDecoder *array;
	Oid			typioparam;
	Oid			element_function;

	if (input_function != F_ARRAY_IN || !Array_nulls ||
		!OidIsValid(get_element_type(decoder->type_id)))
		return NULL;
	array = palloc0(sizeof(ArrayDecoder));
	array->element.type_id = get_element_type(decoder->type_id);
	get_type_io_data(array->element.type_id, IOFunc_input, &array->typlen,
					 &array->typbyval, &array->typalign, &array->delimiter,
					 &typioparam, &element_function);
	*element = &array->element;
	decoder->state = array;
	return decode_array;
}
