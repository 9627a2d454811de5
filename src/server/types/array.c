/*-------------------------------------------------------------------------
 *
 * array.c
 *	  Encoder and decoder of arrays.
 *
 * choose.c calls array_encoder() and array_decoder() for types that have
 * the functions of arrays.  Both use the encoder or decoder of the element's
 * type.  They follow src/backend/utils/adt/arrayfuncs.c.
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

#include "bytes/digits.h"
#include "bytes/escape.h"
#include "bytes/varlena.h"
#include "types/choose.h"
#include "types/family.h"

/* ----------
 * Walks over the elements of an array, which may be damaged.
 *
 * The layout is that of src/include/utils/array.h.  A header contains the
 * number of dimensions, the type of the elements, and the offset of their
 * data, or zero if no element is NULL.  Then follow the length of each
 * dimension, their lower bounds, a bitmap if an element is NULL, and the
 * elements that are not NULL, each of them aligned.
 * ----------
 */

/* How elements are stored. */
typedef struct ElementStorage
{
	int16		typlen;
	bool		typbyval;
	char		typalign;
} ElementStorage;

/*
 * Are dimensions and null bitmap within the value?  If the dimensions are
 * negative or too large, ArrayGetNItems() raises the same error as in
 * array_out().
 */
static inline bool
array_header_is_sound(ArrayType *value)
{
	Size		size = VARSIZE(value);
	int			ndim;

	if (size < sizeof(ArrayType))
		return false;
	ndim = ARR_NDIM(value);
	if (ndim < 0 || ndim > MAXDIM || size < ARR_OVERHEAD_NONULLS(ndim))
		return false;
	if (!ARR_HASNULL(value))
		return true;
	return value->dataoffset <= size && value->dataoffset >=
		ARR_OVERHEAD_WITHNULLS(ndim, ArrayGetNItems(ndim, ARR_DIMS(value)));
}

/* A walk over the elements of a value. */
typedef struct ElementWalk
{
	int			index;			/* of the next element */
	char	   *place;			/* of the next element that is not NULL */
	const char *value_end;
	const uint8 *bitmap;		/* NULL if no element is NULL */
} ElementWalk;

static inline void
array_walk_begin(ElementWalk *walk, ArrayType *value)
{
	walk->index = 0;
	walk->place = ARR_DATA_PTR(value);
	walk->value_end = (const char *) value + VARSIZE(value);
	walk->bitmap = ARR_NULLBITMAP(value);
}

/*
 * Get the next element; returns false if it is NULL.  Raises an error if the
 * element exceeds the value.  Arrays contain no elements that are compressed
 * or out of line, so such an element is an error, too.
 */
static inline bool
array_walk_next(const ElementStorage *storage, ElementWalk *walk,
				Datum *element)
{
	int			index = walk->index++;
	Size		size;

	CHECK_FOR_INTERRUPTS();		/* there may be a hundred million elements */
	if (walk->bitmap != NULL &&
		(walk->bitmap[index / 8] & (1 << (index % 8))) == 0)
		return false;
	size = stored_size(walk->place, walk->value_end, storage->typlen);
	if (unlikely(size == 0 || (storage->typlen == -1 &&
							   !stored_varlena_is_plain(walk->place))))
		damaged_value("array");
	*element = fetch_att(walk->place, storage->typbyval, storage->typlen);
	/* like array_seek(): padding for the next element follows each element */
	walk->place = (char *) att_align_nominal(walk->place + size,
											 storage->typalign);
	return true;
}

/* ----------
 * Encoder of arrays of any element type.
 *
 * It has the results of array_out() and array_send(), but uses the encoder of
 * the elements.  In text format, that encoder appends a text with COPY's
 * escapes to the output.  After that, array_quote() finds out whether the
 * text needs an array's quotes, and adds them.
 * ----------
 */

typedef struct ArrayEncoder
{
	ElementStorage storage;
	char		delimiter;
	bool		expect_quotes;	/* the last element needed them */
	ColumnEncoder element;		/* for the type in the array's header */
} ArrayEncoder;

/* Append an element in text format, with quotes if necessary. */
static inline char *
append_element(ArrayEncoder *array, Datum value, ByteBuffer *out, char *to)
{
	Size		start = to - out->data;

	/* numbers, for example, contain nothing that array_out() would quote */
	if (array->element.never_quoted)
		return column_encode(&array->element, value, out, to);

	/*
	 * An element usually needs quotes if the last one did.  So the opening
	 * quote is written first, and the text need not be moved for it.
	 */
	if (array->expect_quotes)
		to = byte_buffer_append_char(out, to, '"');
	to = column_encode(&array->element, value, out, to);
	return array_quote(out, to, start, &array->expect_quotes,
					   array->delimiter);
}

/*
 * Append [lower:upper] for each dimension if a lower bound is not 1, as
 * array_out() does.
 */
static char *
append_bounds(ArrayType *value, ByteBuffer *out, char *to)
{
	int			ndim = ARR_NDIM(value);
	const int  *dims = ARR_DIMS(value);
	const int  *lower = ARR_LBOUND(value);
	bool		needed = false;

	for (int i = 0; i < ndim; i++)
		needed |= lower[i] != 1;
	if (likely(!needed))
		return to;

	to = byte_buffer_reserve(out, to,
							 MAXDIM * (3 + 2 * INTEGER_TEXT_ROOM) + 1);
	for (int i = 0; i < ndim; i++)
	{
		*to++ = '[';
		to = put_int64(to, lower[i]);
		*to++ = ':';
		to = put_int64(to, lower[i] + dims[i] - 1);
		*to++ = ']';
	}
	*to++ = '=';
	return to;
}

/*
 * Append the braces and the delimiter after an element, and advance the
 * indexes to the next element.
 */
static inline char *
append_separator(char delimiter, int ndim, const int *dims, int *indexes,
				 ByteBuffer *out, char *to)
{
	int			dim = ndim - 1;

	to = byte_buffer_reserve(out, to, 2 * MAXDIM + 1);
	/* most arrays have one dimension, whose only brace is at the end */
	if (likely(ndim == 1))
	{
		*to = ++indexes[0] == dims[0] ? '}' : delimiter;
		return to + 1;
	}
	while (dim >= 0 && ++indexes[dim] == dims[dim])
	{
		indexes[dim--] = 0;
		*to++ = '}';
	}
	if (dim >= 0)
	{
		*to++ = delimiter;
		for (; dim < ndim - 1; dim++)
			*to++ = '{';
	}
	return to;
}

/*
 * Append the text of an array.  "indexes" are the indexes of the current
 * element in all dimensions.  Where one of them reaches its end, a brace is
 * closed.
 */
static char *
append_text_array(ArrayEncoder *array, ArrayType *value, ByteBuffer *out,
				  char *to)
{
	int			ndim = ARR_NDIM(value);
	const int  *dims = ARR_DIMS(value);
	int			n_elements = ArrayGetNItems(ndim, dims);
	int			indexes[MAXDIM] = {0};
	ElementWalk walk;
	Datum		element;

	if (n_elements == 0)
		return byte_buffer_append(out, to, "{}", 2);

	to = append_bounds(value, out, to);
	/* one opening brace for each dimension; MAXDIM is 6 */
	to = byte_buffer_append(out, to, "{{{{{{", ndim);
	array_walk_begin(&walk, value);
	for (int i = 0; i < n_elements; i++)
	{
		if (array_walk_next(&array->storage, &walk, &element))
			to = append_element(array, element, out, to);
		else
			to = byte_buffer_append(out, to, "NULL", 4);
		to = append_separator(array->delimiter, ndim, dims, indexes, out, to);
	}
	return to;
}

/*
 * Append the binary form: number of dimensions, whether there are NULLs, type
 * of the elements; length and lower bound of each dimension; and the length
 * and value of each element.
 */
static char *
append_binary_array(ArrayEncoder *array, ArrayType *value, ByteBuffer *out,
					char *to)
{
	int			ndim = ARR_NDIM(value);
	const int  *dims = ARR_DIMS(value);
	int			n_elements = ArrayGetNItems(ndim, dims);
	ElementWalk walk;
	Datum		element;

	to = byte_buffer_reserve(out, to, (3 + 2 * MAXDIM) * sizeof(int32));
	to = put_network_32(to, ndim);
	to = put_network_32(to, ARR_HASNULL(value) ? 1 : 0);
	to = put_network_32(to, array->element.type_id);
	for (int i = 0; i < ndim; i++)
	{
		to = put_network_32(to, dims[i]);
		to = put_network_32(to, ARR_LBOUND(value)[i]);
	}

	array_walk_begin(&walk, value);
	for (int i = 0; i < n_elements; i++)
	{
		if (array_walk_next(&array->storage, &walk, &element))
			to = column_encode_with_length(&array->element, element, out, to);
		else
			to = append_null_length(out, to);
	}
	return to;
}

/*
 * Append an array whose header names another element type than the column.
 * The type's function, which does not check lengths, writes the array after a
 * walk over all elements has found that they are within the value.
 */
static pg_noinline char *
append_other_array(ColumnEncoder *encoder, ArrayType *value, ByteBuffer *out,
				   char *to)
{
	int			n_elements = ArrayGetNItems(ARR_NDIM(value), ARR_DIMS(value));
	ElementStorage storage;
	ElementWalk walk;
	Datum		element;

	get_typlenbyvalalign(ARR_ELEMTYPE(value), &storage.typlen,
						 &storage.typbyval, &storage.typalign);
	array_walk_begin(&walk, value);
	for (int i = 0; i < n_elements; i++)
		(void) array_walk_next(&storage, &walk, &element);
	return encode_by_type_function(encoder, PointerGetDatum(value), out, to);
}

static char *
encode_array(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	ArrayEncoder *array = encoder->state;
	AlignedValue copy;
	ArrayType  *array_value = (ArrayType *) aligned_varlena(value, &copy);

	/* the walk over elements relies on this check */
	if (unlikely(!array_header_is_sound(array_value)))
		damaged_value("array");
	/* the header of a damaged value may name any type */
	if (unlikely(ARR_ELEMTYPE(array_value) != array->element.type_id))
		return append_other_array(encoder, array_value, out, to);
	if (encoder->settings->format == ROW_BINARY)
		return append_binary_array(array, array_value, out, to);
	return append_text_array(array, array_value, out, to);
}

EncodeFunction
array_encoder(Oid type_function, ColumnEncoder *encoder)
{
	Oid			element_type;
	Oid			typioparam;
	Oid			element_function;
	bool		binary = encoder->settings->format == ROW_BINARY;
	ArrayEncoder *array;

	if (type_function != F_ARRAY_OUT && type_function != F_ARRAY_SEND)
		return NULL;
	element_type = get_base_element_type(encoder->type_id);
	if (!OidIsValid(element_type))
		return NULL;

	array = palloc0(sizeof(ArrayEncoder));
	get_type_io_data(element_type, binary ? IOFunc_send : IOFunc_output,
					 &array->storage.typlen, &array->storage.typbyval,
					 &array->storage.typalign, &array->delimiter,
					 &typioparam, &element_function);
	/* array_send() works without a send function if all elements are NULL */
	if (!OidIsValid(element_function))
		return NULL;
	/* the element's type may also be an array: a domain over one */
	choose_encoder(&array->element, element_type, encoder->settings);

	/*
	 * array_quote() looks for quotes and delimiters in the text that the
	 * element's encoder has written.  In the client's encoding, such bytes
	 * may be parts of characters, while array_out() decides in the server's
	 * encoding.  array_quote() supports the delimiters ',' and ';' only.
	 */
	if (!binary &&
		((encoder->settings->transcode && !array->element.never_quoted) ||
		 (array->delimiter != ',' && array->delimiter != ';')))
		return NULL;
	encoder->state = array;
	return encode_array;
}

/* ----------
 * Decoder of arrays of types that have a decoder.
 *
 * It reads the texts that array_out() writes for empty arrays, and for arrays
 * of one dimension with the lower bound 1.  All other texts that array_in()
 * accepts, for example with white space between elements, are left to it, and
 * so are arrays in which the element's decoder declines an element.
 * ----------
 */

/*
 * Longer texts are left to array_in(), so that the memory for the elements of
 * an array is limited.
 */
#define MAX_ARRAY_TEXT		(1024 * 1024)

/* The elements of arrays with up to this number of them are on the stack. */
#define FEW_ELEMENTS		64

typedef struct ArrayDecoder
{
	ColumnDecoder element;
	ElementStorage storage;
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

/* Find the first quote or backslash, or return "end" or more. */
static inline const char *
find_quote(const char *p, const char *end)
{
	for (; p < end; p += BYTE_BLOCK_SIZE)
	{
		ByteBlock	flags = flag_quotes(byte_block_load(p));

		if (byte_block_any(flags))
			return p + byte_block_first(flags);
	}
	return end;
}

/* Find the first byte that requires quotes in an element, or return "end". */
static inline const char *
find_special(const char *p, const char *end, char delimiter)
{
	for (; p < end; p += BYTE_BLOCK_SIZE)
	{
		ByteBlock	block = byte_block_load(p);
		ByteBlock	flags = flag_quotes(block) |
			flag_separators(block, delimiter) | byte_block_le(block, ' ');

		if (byte_block_any(flags))
			return Min(p + byte_block_first(flags), end);
	}
	return end;
}

/*
 * Find the closing quote of an element, beginning at its first backslash, or
 * return NULL.
 */
static const char *
find_end(const char *from, const char *end)
{
	/* a backslash and the character after it are skipped together */
	while (from < end && *from != '"')
		from = find_quote(from + 2, end);
	return from < end ? from : NULL;
}

/*
 * Read an element whose opening quote is at *p.  If it contains backslashes,
 * a copy without them is made, with padding for the element's decoder.
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
	/* like array_in(), keep the character after each backslash only */
	to = copy;
	for (from = start; from < close; from++)
	{
		if (*from == '\\')
			from++;
		*to++ = *from;
	}
	/* the copy is never longer than its source, so there is enough room */
	memset(to, 0, FIELD_PADDING);
	element->text = copy;
	element->len = to - copy;
	*p = close + 1;
	return true;
}

/*
 * Read an element without quotes, up to the next delimiter.  Returns false if
 * it contains white space or a character that requires quotes.
 */
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

/* Read all elements from p to "end", which is the place of the last brace. */
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

/* Compute the size of all elements in the array, with padding after each. */
static Size
elements_size(const ArrayDecoder *array, const Elements *elements)
{
	Size		size = 0;

	/* for elements of a fixed length, no loop is necessary */
	if (array->storage.typlen > 0)
		return (Size) (elements->n - elements->n_nulls) *
			att_align_nominal(array->storage.typlen, array->storage.typalign);
	for (int i = 0; i < elements->n; i++)
	{
		if (!elements->nulls[i])
			size += att_align_nominal(VARSIZE(DatumGetPointer(elements->values[i])),
									  array->storage.typalign);
	}
	return size;
}

/* Store an element as array_in() does, with zeros as padding. */
static inline char *
put_element(const ArrayDecoder *array, char *to, Datum value)
{
	Size		size = array->storage.typlen;
	Size		aligned;

	if (array->storage.typbyval)
		store_att_byval(to, value, array->storage.typlen);
	else
	{
		if (array->storage.typlen < 0)
			size = VARSIZE(DatumGetPointer(value));
		memcpy(to, DatumGetPointer(value), size);
	}
	aligned = att_align_nominal(size, array->storage.typalign);
	for (; size < aligned; size++)
		to[size] = '\0';
	return to + aligned;
}

/*
 * Form an array as construct_md_array() does.  Values with short headers, and
 * compressed or out-of-line values, do not occur here.
 */
static ArrayType *
form_array(ArrayDecoder *array, const Elements *elements)
{
	bool		has_null = elements->n_nulls > 0;
	Size		overhead = has_null ? ARR_OVERHEAD_WITHNULLS(1, elements->n) :
		ARR_OVERHEAD_NONULLS(1);
	Size		size = overhead + elements_size(array, elements);
	ArrayType  *result = value_alloc(&array->element, size);
	char	   *to = (char *) result + overhead;

	/* also clears the padding after the null bitmap, like that function */
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
	/* an empty array has no dimensions */
	if (len == 2)
	{
		*value = PointerGetDatum(construct_empty_array(array->element.type_id));
		return true;
	}

	/*
	 * Each element has at least one byte, and there is one between two
	 * elements, so their number is at most half the length of the text.
	 */
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
array_decoder(Oid input_function, ColumnDecoder *decoder)
{
	ArrayDecoder *array;
	Oid			typioparam;
	Oid			element_function;

	/* int2vector and oidvector have input functions of their own */
	if (input_function != F_ARRAY_IN ||
		!OidIsValid(get_element_type(decoder->type_id)))
		return NULL;
	/* allocated in the context of the column's decoder */
	array = palloc0(sizeof(ArrayDecoder));
	/* array_in() passes the typmod of the column to the element's function */
	choose_decoder(&array->element, decoder->space,
				   get_element_type(decoder->type_id), decoder->typmod);
	if (array->element.decode == NULL)
		return NULL;
	get_type_io_data(array->element.type_id, IOFunc_input,
					 &array->storage.typlen, &array->storage.typbyval,
					 &array->storage.typalign, &array->delimiter,
					 &typioparam, &element_function);
	decoder->state = array;
	return decode_array;
}
