/*-------------------------------------------------------------------------
 *
 * encode_array.c
 *	  Encoder of arrays of any element type.
 *
 * Writes what array_out or array_send gives
 * (src/backend/utils/adt/arrayfuncs.c) with the elements' own encoders.  As
 * text those append text with COPY's escapes, in place; array quotes are put
 * around it afterwards if it turns out to need them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/array.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "bytes/array_quote.h"
#include "bytes/digits.h"
#include "bytes/packed_varlena.h"
#include "encode/array_walk.h"
#include "encode/encode_array.h"

typedef struct ArrayEncoder
{
	ElementStorage storage;
	char		delimiter;
	bool		never_quoted;	/* no element's text needs quotes */
	bool		expect_quotes;	/* the last element needed them */
	ColumnEncoder element;		/* of the type that the array's head tells */
} ArrayEncoder;

static inline char *
append_element(ArrayEncoder *array, Datum value, ByteBuffer *out, char *to)
{
	Size		start = to - out->data;

	if (array->never_quoted)
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
		to = put_int32(to, lower[i]);
		*to++ = ':';
		to = put_int32(to, lower[i] + dims[i] - 1);
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
 * Elements of another type than the column's, which the array's own head
 * tells: the type's function writes them, if they are where it expects them.
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

/*
 * A short array is copied to where it is aligned, rather than detoasted.
 */
static char *
encode_array(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	ArrayEncoder *array = encoder->state;
	struct varlena *packed = packed_varlena(value);
	ArrayType  *array_value = (ArrayType *) packed;
	union
	{
		int64		alignment;
		char		bytes[VARHDRSZ + VARATT_SHORT_MAX];
	}			aligned;

	if (VARATT_IS_SHORT(packed))
	{
		Size		len = VARSIZE_SHORT(packed) - VARHDRSZ_SHORT;

		memcpy(aligned.bytes + VARHDRSZ, VARDATA_SHORT(packed), len);
		SET_VARSIZE(aligned.bytes, len + VARHDRSZ);
		array_value = (ArrayType *) aligned.bytes;
	}

	if (unlikely(!array_header_is_sound(array_value)))
		damaged_value("array");
	if (unlikely(ARR_ELEMTYPE(array_value) != array->element.type_id))
		to = append_other_array(encoder, array_value, out, to);
	else if (encoder->settings->format == ROW_BINARY)
		to = append_binary_array(array, array_value, out, to);
	else
		to = append_text_array(array, array_value, out, to);
	packed_varlena_release(packed, value);
	return to;
}

/* Has the type's text never anything that an array has to quote? */
static bool
text_needs_no_quotes(Oid type_function)
{
	switch (type_function)
	{
		case F_BOOLOUT:
		case F_INT2OUT:
		case F_INT4OUT:
		case F_INT8OUT:
		case F_OIDOUT:
		case F_FLOAT4OUT:
		case F_FLOAT8OUT:
		case F_NUMERIC_OUT:
		case F_TIME_OUT:
		case F_UUID_OUT:
		case F_INET_OUT:
		case F_CIDR_OUT:
		case F_MACADDR_OUT:
		case F_MACADDR8_OUT:
			return true;
		default:
			return false;
	}
}

EncodeFunction
array_encoder(Oid type_function, ColumnEncoder *encoder,
			  ColumnEncoder **element)
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
	array->never_quoted = text_needs_no_quotes(element_function);

	/*
	 * Quotes are decided on in the server's encoding.  In the client's, the
	 * bytes they are found by may be parts of characters.  And a type may
	 * have no send function, which does no harm as long as all are NULL.
	 */
	if (binary ? !OidIsValid(element_function) :
		(encoder->settings->transcode && !array->never_quoted) ||
		(array->delimiter != ',' && array->delimiter != ';'))
	{
		pfree(array);
		return NULL;
	}

	array->element.type_id = element_type;
	*element = &array->element;
	encoder->state = array;
	return encode_array;
}
