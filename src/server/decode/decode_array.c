/*-------------------------------------------------------------------------
 *
 * decode_array.c
 *	  Decoder of arrays of types that have a decoder.
 *
 * Reads what array_out() (src/backend/utils/adt/arrayfuncs.c) writes of an
 * array of one dimension that begins at 1, and of an empty one.  White space
 * between elements, and all else that array_in() takes, is left to it, as are
 * arrays of which the element's decoder declines an element.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tupmacs.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "bytes/byte_block.h"
#include "decode/decode_array.h"

/* Of longer texts array_in() may make what memory there is for. */
#define MAX_ARRAY_TEXT		(1024 * 1024)

/* Arrays of up to this number of elements need no memory of their own. */
#define FEW_ELEMENTS		64

typedef struct ArrayDecoder
{
	ColumnDecoder element;
	int16		typlen;
	bool		typbyval;
	char		typalign;
	char		delimiter;
} ArrayDecoder;

typedef struct Elements
{
	int			n;
	int			n_nulls;
	Datum	   *values;
	bool	   *nulls;
} Elements;

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

/* The first byte that an element without quotes cannot hold; or "end". */
static inline const char *
find_special(const char *p, const char *end, char delimiter)
{
	for (; p < end; p += BYTE_BLOCK_SIZE)
	{
		ByteBlock	block = byte_block_load(p);
		ByteBlock	quotes = byte_block_or(byte_block_eq(block, '"'),
										   byte_block_eq(block, '\\'));
		ByteBlock	braces = byte_block_or(byte_block_eq(block, '{'),
										   byte_block_eq(block, '}'));
		ByteBlock	others = byte_block_or(byte_block_eq(block, delimiter),
										   byte_block_le(block, ' '));
		ByteBlock	flags = byte_block_or(byte_block_or(quotes, braces),
										  others);

		if (byte_block_any(flags))
			return Min(p + byte_block_first(flags), end);
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
	const char *from = find_special(start, end, delimiter);

	element->text = start;
	element->len = from - start;
	element->is_null = element->len == 4 && (*start | 0x20) == 'n' &&
		pg_strncasecmp(start, "NULL", 4) == 0;
	*p = from;
	/* with array_nulls off, array_in() reads the word as a text */
	return from > start && (from == end || *from == delimiter) &&
		(Array_nulls || !element->is_null);
}

/*
 * Read all elements, the text between the braces up to "end", where the
 * closing one is.
 */
static bool
read_elements(ArrayDecoder *array, const char *p, const char *end,
			  Elements *elements)
{
	ColumnDecoder *decoder = &array->element;

	for (;;)
	{
		ElementText element;
		Datum	   *value = &elements->values[elements->n];
		bool		found;

		found = *p == '"' ? read_quoted(&p, end, &element) :
			read_unquoted(&p, end, array->delimiter, &element);
		if (!found)
			return false;
		elements->nulls[elements->n++] = element.is_null;
		elements->n_nulls += element.is_null;
		if (!element.is_null &&
			!decoder->decode(decoder, element.text, element.len, value))
			return false;
		if (p == end)
			return true;
		/* a delimiter must be between two elements */
		if (p > end || *p != array->delimiter || ++p == end)
			return false;
	}
}

/* The bytes that elements take in the array, each with padding behind it. */
static Size
elements_size(const ArrayDecoder *array, const Elements *elements)
{
	Size		size = 0;

	if (array->typlen > 0)
		return (Size) (elements->n - elements->n_nulls) *
			att_align_nominal(array->typlen, array->typalign);
	for (int i = 0; i < elements->n; i++)
	{
		if (!elements->nulls[i])
			size += att_align_nominal(VARSIZE(DatumGetPointer(elements->values[i])),
									  array->typalign);
	}
	return size;
}

static inline char *
put_element(const ArrayDecoder *array, char *to, Datum value)
{
	Size		size = array->typlen;
	Size		aligned;

	if (array->typbyval)
		store_att_byval(to, value, array->typlen);
	else
	{
		if (array->typlen < 0)
			size = VARSIZE(DatumGetPointer(value));
		memcpy(to, DatumGetPointer(value), size);
	}
	aligned = att_align_nominal(size, array->typalign);
	for (; size < aligned; size++)
		to[size] = '\0';
	return to + aligned;
}

/* As construct_md_array(), of values that are neither short nor toasted. */
static ArrayType *
form_array(ArrayDecoder *array, const Elements *elements)
{
	bool		has_null = elements->n_nulls > 0;
	Size		overhead = has_null ? ARR_OVERHEAD_WITHNULLS(1, elements->n) :
		ARR_OVERHEAD_NONULLS(1);
	Size		size = overhead + elements_size(array, elements);
	ArrayType  *result = value_alloc(&array->element, size);
	char	   *to = (char *) result + overhead;

	memset(result, 0, overhead);
	SET_VARSIZE(result, size);
	result->ndim = 1;
	result->dataoffset = has_null ? overhead : 0;
	result->elemtype = array->element.type_id;
	ARR_DIMS(result)[0] = elements->n;
	ARR_LBOUND(result)[0] = 1;
	for (int i = 0; i < elements->n; i++)
	{
		if (elements->nulls[i])
			continue;
		if (has_null)
			ARR_NULLBITMAP(result)[i / BITS_PER_BYTE] |= 1 << (i % BITS_PER_BYTE);
		to = put_element(array, to, elements->values[i]);
	}
	Assert(to == (char *) result + size);
	return result;
}

static bool
decode_array(ColumnDecoder *decoder, const char *text, Size len, Datum *value)
{
	ArrayDecoder *array = decoder->state;
	Datum		few_values[FEW_ELEMENTS];
	bool		few_nulls[FEW_ELEMENTS];
	Elements	elements = {.values = few_values,.nulls = few_nulls};

	if (len < 2 || len > MAX_ARRAY_TEXT || text[0] != '{' ||
		text[len - 1] != '}')
		return false;
	if (len == 2)
	{
		*value = PointerGetDatum(construct_empty_array(array->element.type_id));
		return true;
	}
	/* each element has a byte at least, and one between it and the next */
	if (len / 2 > FEW_ELEMENTS)
	{
		elements.values = palloc(len / 2 * sizeof(Datum));
		elements.nulls = palloc(len / 2 * sizeof(bool));
	}
	if (!read_elements(array, text + 1, text + len - 1, &elements))
		return false;
	*value = PointerGetDatum(form_array(array, &elements));
	return true;
}

DecodeFunction
array_decoder(Oid input_function, ColumnDecoder *decoder,
			  ColumnDecoder **element)
{
	ArrayDecoder *array;
	Oid			typioparam;
	Oid			element_function;

	if (input_function != F_ARRAY_IN ||
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
