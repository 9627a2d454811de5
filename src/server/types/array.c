/*-------------------------------------------------------------------------
 *
 * array.c
 *	  Encoder and decoder of arrays.
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
 * Walks over the elements of an array that may be damaged.
 *
 * The layout is that of src/include/utils/array.h: a head with the number of
 * dimensions, the type of the elements, and where their data begin, or zero
 * if none is NULL; the length of each dimension; their lower bounds; a bitmap
 * if there are NULLs; and the elements that are not NULL, each aligned.
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
 * Do dimensions and null bitmap lie within the value?  ArrayGetNItems()
 * raises an error if the dimensions are negative or too large, as array_out()
 * does.
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
	char	   *place;			/* of the next one that is not NULL */
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
 * Get the next element; false if it is NULL.  It must not end beyond the
 * value, and arrays hold none that is compressed or out of line.
 */
static inline bool
array_walk_next(const ElementStorage *storage, ElementWalk *walk,
				Datum *element)
{
	int			index = walk->index++;
	Size		size;

	CHECK_FOR_INTERRUPTS();		/* there may be a hundred million of them */
	if (walk->bitmap != NULL &&
		(walk->bitmap[index / 8] & (1 << (index % 8))) == 0)
		return false;
	size = stored_size(walk->place, walk->value_end, storage->typlen);
	if (unlikely(size == 0 || (storage->typlen == -1 &&
							   !stored_varlena_is_plain(walk->place))))
		damaged_value("array");
	*element = fetch_att(walk->place, storage->typbyval, storage->typlen);
	/* as array_seek(): each element is followed by padding for the next */
	walk->place = (char *) att_align_nominal(walk->place + size,
											 storage->typalign);
	return true;
}

/* ----------
 * Encoder of arrays of any element type.
 *
 * Writes what array_out or array_send gives
 * (src/backend/utils/adt/arrayfuncs.c) with the elements' own encoders.  As
 * text those append text with COPY's escapes, in place; array quotes are put
 * around it afterwards if it turns out to need them.
 * ----------
 */

typedef struct ArrayEncoder
{
	ElementStorage storage;
	char		delimiter;
	bool		expect_quotes;	/* the last element needed them */
	ColumnEncoder element;		/* of the type in the array's head */
} ArrayEncoder;

static inline char *
append_element(ArrayEncoder *array, Datum value, ByteBuffer *out, char *to)
{
	Size		start = to - out->data;

	/* numbers and such have nothing that array_out() would quote */
	if (array->element.never_quoted)
		return column_encode(&array->element, value, out, to);

	/* an element is mostly like the one before, and then none is moved */
	if (array->expect_quotes)
		to = byte_buffer_append_char(out, to, '"');
	to = column_encode(&array->element, value, out, to);
	return array_quote(out, to, start, &array->expect_quotes,
					   array->delimiter);
}

/* Append [lower:upper] of each dimension, if one has a lower bound but 1. */
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
 * Append the braces and delimiter behind an element, and step the indexes to
 * the next one.
 */
static inline char *
append_separator(char delimiter, int ndim, const int *dims, int *indexes,
				 ByteBuffer *out, char *to)
{
	int			dim = ndim - 1;

	to = byte_buffer_reserve(out, to, 2 * MAXDIM + 1);
	/* most arrays have one dimension, and then there is no brace to count */
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
 * As array_out(): bounds, if there are others than 1, and the elements in
 * braces.  "indexes" are those of the current element in all dimensions:
 * where one of them reaches its end, a brace is closed.
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

	/* MAXDIM is 6 */
	to = append_bounds(value, out, to);
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
 * Number of dimensions, whether there are NULLs, type of the elements; length
 * and lower bound of each dimension; the elements behind their lengths.
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
 * Append an array whose own head has another element type than the column.
 * The type's function writes it, if the elements are where it expects them.
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

	if (unlikely(!array_header_is_sound(array_value)))
		damaged_value("array");
	/* a damaged value may claim to have elements of any type */
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
	/* a type may have no send function, as long as all elements are NULL */
	if (!OidIsValid(element_function))
		return NULL;
	/* an element's type may be an array again, as a domain over one */
	choose_encoder(&array->element, element_type, encoder->settings);

	/*
	 * Quotes are decided on in the server's encoding.  In the client's, the
	 * bytes they are found by may be parts of characters.
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
 * Reads what array_out() (src/backend/utils/adt/arrayfuncs.c) writes of an
 * array of one dimension that begins at 1, and of an empty one.  White space
 * between elements, and all else that array_in() takes, is left to it, as are
 * arrays of which the element's decoder declines an element.
 * ----------
 */

/* Of longer texts array_in() may make what memory there is for. */
#define MAX_ARRAY_TEXT		(1024 * 1024)

/* Arrays of up to this number of elements need no memory of their own. */
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

/* The first quote or backslash; behind the end if there is none. */
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

/* The first byte that an element without quotes cannot hold; or "end". */
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

/* The quote that closes an element, from its first backslash on; or NULL. */
static const char *
find_end(const char *from, const char *end)
{
	/* a backslash and the character behind it are skipped together */
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
	/* each backslash stands for the character behind it, as in array_in() */
	to = copy;
	for (from = start; from < close; from++)
	{
		if (*from == '\\')
			from++;
		*to++ = *from;
	}
	/* the copy is never longer than its source, so that there is room */
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

	/* elements of fixed length need not be looked at one by one */
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

/* Store an element as array_in() does, with zeros up to the next one. */
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

	/*
	 * the padding behind the null bitmap is zero, as construct_md_array()'s
	 */
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

	/*
	 * Each element has a byte at least, and one between it and the next, so
	 * that half the length is enough for all of them.
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

	/* int2vector and oidvector have functions of their own */
	if (input_function != F_ARRAY_IN ||
		!OidIsValid(get_element_type(decoder->type_id)))
		return NULL;
	/* lives as long as the decoder of the column */
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
