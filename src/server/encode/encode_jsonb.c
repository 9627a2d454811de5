/*-------------------------------------------------------------------------
 *
 * encode_jsonb.c
 *	  Encoder of jsonb.
 *
 * Walks the stored tree (src/include/utils/jsonb.h tells its layout) and
 * writes what jsonb_out gives (src/backend/utils/adt/jsonb.c:
 * JsonbToCString), with the escapes of JSON and of COPY made in one pass.
 * The binary form is the same text behind the number of the form's version
 * (jsonb_send).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/fmgroids.h"
#include "utils/jsonb.h"
#include "utils/memutils.h"

#include "bytes/escape.h"
#include "bytes/packed_varlena.h"
#include "bytes/stored_size.h"
#include "encode/append_text.h"
#include "encode/encode_jsonb.h"
#include "encode/encode_numeric.h"

/*
 * Deeper values are left to jsonb_out, which does not recurse and so knows no
 * limit.
 */
#define MAX_DEPTH	64

#define BINARY_VERSION 1

/* Where the walk writes, and how. */
typedef struct JsonbWriter
{
	ByteBuffer *out;
	const EncodeSettings *settings;
	int			depth;
	const char *end;			/* of the value */
} JsonbWriter;

static char *append_container(JsonbWriter *writer, char *to,
							  const JsonbContainer *container);

/*
 * Escape JSON's way alone, then convert and escape as any text.  For strings
 * that change in the client's encoding.
 */
static pg_noinline char *
append_converted_string(JsonbWriter *writer, char *to, const char *string,
						Size len)
{
	StringInfoData json;

	initStringInfo(&json);
	for (Size i = 0; i < len; i++)
	{
		char		escaped[8];
		char	   *end = put_escaped_byte(escaped, string[i], ESCAPE_JSON);

		if (unlikely(string[i] == '\0'))
			damaged_value("jsonb");
		appendBinaryStringInfo(&json, escaped, end - escaped);
	}
	to = append_text(writer->out, to, json.data, json.len, writer->settings);
	pfree(json.data);
	return to;
}

/*
 * Copy and escape as the format asks for.  No string has a zero in it: what
 * jsonb_out would make of that differs among majors, and cannot be loaded.
 */
static inline char *
copy_string(const JsonbWriter *writer, char *to, const char *string, Size len)
{
	const char *end;

	if (writer->settings->format == ROW_BINARY)
		end = copy_escaping_up_to_zero(&to, string, len, ESCAPE_JSON);
	else
		end = copy_escaping_up_to_zero(&to, string, len, ESCAPE_JSON_COPY);
	if (unlikely(end != string + len))
		damaged_value("jsonb");
	return to;
}

static pg_noinline char *
append_long_string(JsonbWriter *writer, char *to, const char *string,
				   Size len)
{
	while (len > 0)
	{
		Size		piece = Min(len, ESCAPE_PIECE);

		CHECK_FOR_INTERRUPTS();
		to = byte_buffer_reserve(writer->out, to, JSON_ESCAPED_SIZE(piece));
		to = copy_string(writer, to, string, piece);
		string += piece;
		len -= piece;
	}
	return to;
}

/* A string that is too long for one reservation, or changes. */
static pg_noinline char *
append_special_string(JsonbWriter *writer, char *to, const char *string,
					  Size len, bool convert)
{
	to = byte_buffer_append_char(writer->out, to, '"');
	if (convert)
		to = append_converted_string(writer, to, string, len);
	else
		to = append_long_string(writer, to, string, len);
	return byte_buffer_append_char(writer->out, to, '"');
}

/*
 * Append a string; if it is an object's key, with what stands around it.
 * "separate" asks for the separator from the pair before.
 */
static pg_attribute_always_inline char *
append_string(JsonbWriter *writer, char *to, const char *string, Size len,
			  bool is_key, bool separate)
{
	ByteBuffer *out = writer->out;
	bool		convert = unlikely(writer->settings->transcode) &&
		!text_is_ascii(string, len);
	bool		special = len > ESCAPE_PIECE || convert;

	to = byte_buffer_reserve(out, to,
							 special ? 2 : JSON_ESCAPED_SIZE(len) + 6);
	if (is_key && separate)
	{
		*to++ = ',';
		*to++ = ' ';
	}
	if (likely(!special))
	{
		*to++ = '"';
		to = copy_string(writer, to, string, len);
		*to++ = '"';
	}
	else
	{
		to = append_special_string(writer, to, string, len, convert);
		to = byte_buffer_reserve(out, to, 2);
	}
	if (is_key)
	{
		*to++ = ':';
		*to++ = ' ';
	}
	return to;
}

static char *
append_string_node(JsonbWriter *writer, char *to, const char *string,
				   Size len)
{
	return append_string(writer, to, string, len, false, false);
}

static char *
append_key(JsonbWriter *writer, char *to, const char *key, Size len,
		   bool separate)
{
	return append_string(writer, to, key, len, true, separate);
}

static inline char *
append_numeric_node(JsonbWriter *writer, char *to, const char *num,
					const char *end)
{
	if (unlikely(stored_size(num, end, -1) == 0 ||
				 !stored_varlena_is_plain(num)))
		damaged_value("jsonb");
	return append_numeric(writer->out, to, (Numeric) num);
}

/* The place behind a node that starts at "start", which its entry tells. */
static inline uint32
node_end(JEntry entry, uint32 start)
{
	uint32		field = JBE_OFFLENFLD(entry);

	return JBE_HAS_OFF(entry) ? field : start + field;
}

/*
 * Append the node that lies from start to end of its container's data.  NULL
 * as append_container().
 */
static inline char *
append_node(JsonbWriter *writer, char *to, JEntry entry, const char *data,
			uint32 start, uint32 end)
{
	CHECK_FOR_INTERRUPTS();		/* a value may have millions of nodes */
	if (unlikely(start > end || end > writer->end - data))
		damaged_value("jsonb");

	switch (entry & JENTRY_TYPEMASK)
	{
		case JENTRY_ISSTRING:
			return append_string_node(writer, to, data + start, end - start);
		case JENTRY_ISNUMERIC:
			return append_numeric_node(writer, to, data + INTALIGN(start),
									   data + end);
		case JENTRY_ISBOOL_FALSE:
			return byte_buffer_append(writer->out, to, "false", 5);
		case JENTRY_ISBOOL_TRUE:
			return byte_buffer_append(writer->out, to, "true", 4);
		case JENTRY_ISNULL:
			return byte_buffer_append(writer->out, to, "null", 4);
		case JENTRY_ISCONTAINER:
			return append_container(writer, to,
									(const JsonbContainer *)
									(data + INTALIGN(start)));
		default:
			damaged_value("jsonb");
			return NULL;		/* not reached */
	}
}

static char *
append_object(JsonbWriter *writer, char *to, const JsonbContainer *object)
{
	uint32		n_pairs = JsonContainerSize(object);
	const JEntry *keys = object->children;
	const JEntry *values = keys + n_pairs;
	const char *data = (const char *) (values + n_pairs);
	uint32		key_start = 0;
	uint32		value_start;

	/* The values' data lies behind that of all keys. */
	value_start = n_pairs > 0 ? getJsonbOffset(object, n_pairs) : 0;

	to = byte_buffer_append_char(writer->out, to, '{');
	for (uint32 i = 0; i < n_pairs; i++)
	{
		uint32		key_end = node_end(keys[i], key_start);
		uint32		value_end = node_end(values[i], value_start);

		if (unlikely(key_start > key_end || key_end > writer->end - data ||
					 !JBE_ISSTRING(keys[i])))
			damaged_value("jsonb");
		to = append_key(writer, to, data + key_start, key_end - key_start,
						i > 0);
		to = append_node(writer, to, values[i], data, value_start, value_end);
		if (unlikely(to == NULL))
			return NULL;
		key_start = key_end;
		value_start = value_end;
	}
	return byte_buffer_append_char(writer->out, to, '}');
}

/* A scalar at the root is stored as an array of one, without brackets. */
static char *
append_array(JsonbWriter *writer, char *to, const JsonbContainer *array)
{
	uint32		n_elements = JsonContainerSize(array);
	const char *data = (const char *) (array->children + n_elements);
	bool		scalar = JsonContainerIsScalar(array);
	uint32		start = 0;

	if (unlikely(scalar && (writer->depth > 1 || n_elements != 1)))
		damaged_value("jsonb");
	if (!scalar)
		to = byte_buffer_append_char(writer->out, to, '[');
	for (uint32 i = 0; i < n_elements; i++)
	{
		uint32		end = node_end(array->children[i], start);

		if (i > 0)
			to = byte_buffer_append(writer->out, to, ", ", 2);
		to = append_node(writer, to, array->children[i], data, start, end);
		if (unlikely(to == NULL))
			return NULL;
		start = end;
	}
	if (!scalar)
		to = byte_buffer_append_char(writer->out, to, ']');
	return to;
}

/* Is it an object or array whose entries lie within the value? */
static inline bool
entries_are_sound(const JsonbWriter *writer, const JsonbContainer *container)
{
	Size		left = writer->end - (const char *) container;
	Size		n = JsonContainerSize(container);

	switch (container->header & ~JB_CMASK)
	{
		case JB_FOBJECT:
			n *= 2;
			break;
		case JB_FARRAY:
		case JB_FARRAY | JB_FSCALAR:
			break;
		default:
			return false;
	}
	return n * sizeof(JEntry) <= left - offsetof(JsonbContainer, children);
}

/*
 * Append an object or array.  NULL, with part of it written, if it is too
 * deep.  Containers that share their data, as no sound value has them, may
 * become very long: what they write is limited by the buffer.
 */
static char *
append_container(JsonbWriter *writer, char *to,
				 const JsonbContainer *container)
{
	if (unlikely((const char *) container >
				 writer->end - offsetof(JsonbContainer, children) ||
				 !entries_are_sound(writer, container)))
		damaged_value("jsonb");
	if (writer->depth == MAX_DEPTH)
		return NULL;
	writer->depth++;
	if (JsonContainerIsObject(container))
		to = append_object(writer, to, container);
	else
		to = append_array(writer, to, container);
	writer->depth--;
	return to;
}

static char *
encode_jsonb(ColumnEncoder *encoder, Datum value, ByteBuffer *out, char *to)
{
	struct varlena *packed = packed_varlena(value);
	JsonbWriter writer = {out, encoder->settings, 0, NULL};
	Size		start = to - out->data;
	const JsonbContainer *root;
	union
	{
		int64		alignment;
		char		bytes[VARATT_SHORT_MAX];
	}			aligned;

	/* entries are read as aligned words, which a short header spoils */
	if (VARATT_IS_SHORT(packed))
	{
		memcpy(aligned.bytes, VARDATA_SHORT(packed),
			   VARSIZE_SHORT(packed) - VARHDRSZ_SHORT);
		root = (const JsonbContainer *) aligned.bytes;
	}
	else
		root = &((Jsonb *) packed)->root;
	writer.end = (const char *) root + VARSIZE_ANY_EXHDR(packed);

	if (encoder->settings->format == ROW_BINARY)
		*to++ = BINARY_VERSION;
	to = append_container(&writer, to, root);
	if (unlikely(to == NULL))
		to = encode_by_type_function(encoder, PointerGetDatum(packed), out,
									 out->data + start);
	packed_varlena_release(packed, value);
	return to;
}

EncodeFunction
jsonb_encoder(Oid type_function)
{
	return type_function == F_JSONB_OUT || type_function == F_JSONB_SEND ?
		encode_jsonb : NULL;
}
