/*-------------------------------------------------------------------------
 *
 * jsonb.c
 *	  Encoder and decoder of jsonb.
 *
 * choose.c finds them by the type's functions.  The encoder writes the
 * escapes of JSON and of COPY while it walks over the stored value, whereas
 * jsonb_out() builds a text, which COPY then converts and escapes.  The
 * decoder uses the parser of json.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/fmgroids.h"
#include "utils/jsonb.h"

#include "bytes/escape.h"
#include "bytes/varlena.h"
#include "types/family.h"
#include "types/json.h"

/* ----------
 * Encoder of jsonb.
 *
 * It walks over the stored tree and writes the text of jsonb_out()
 * (src/backend/utils/adt/jsonb.c: JsonbToCString).  The binary form is a byte
 * with the version of the form, and the same text (jsonb_send).
 *
 * The layout is that of src/include/utils/jsonb.h.  A container begins with a
 * word that contains flags and the number of its elements or pairs.  An entry
 * (JEntry) for each element follows, or first one for each key and then one
 * for each value.  The data of all entries follows in the same order.  An
 * entry contains the kind of its data, and either the length of the data or
 * the offset of its end, counted from the start of the container's data.
 * Containers within containers, and numbers, begin at a multiple of 4; the
 * padding before them is part of their length.
 *
 * The value may be damaged, so each place is compared with the end of the
 * value before anything is read there.
 * ----------
 */

/*
 * Values with more levels are left to jsonb_out(), which does not recurse and
 * so can write any number of levels.
 */
#define MAX_DEPTH	64

#define BINARY_VERSION 1

/* The output of a value, and the progress of the walk over it. */
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
 * Append a string that must be converted to the client's encoding.  First
 * only JSON's escapes are written, then append_text() converts the result and
 * writes COPY's escapes.
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
 * Copy a string, with the escapes of the format.  A string with a zero is
 * damaged: jsonb_out() writes it in a way that depends on the major version,
 * and the result cannot be loaded.
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

/*
 * Append a string that must be converted, or for which the room for the worst
 * case is not reserved at once because it is long.
 */
static pg_noinline char *
append_special_string(JsonbWriter *writer, char *to, const char *string,
					  Size len, bool convert)
{
	to = byte_buffer_append_char(writer->out, to, '"');
	if (convert)
	{
		to = append_converted_string(writer, to, string, len);
		len = 0;
	}
	for (Size piece; len > 0; string += piece, len -= piece)
	{
		piece = Min(len, ESCAPE_PIECE);
		CHECK_FOR_INTERRUPTS();
		to = byte_buffer_reserve(writer->out, to, JSON_ESCAPED_SIZE(piece));
		to = copy_string(writer, to, string, piece);
	}
	return byte_buffer_append_char(writer->out, to, '"');
}

/*
 * Append a string.  If it is the key of an object, also append the colon
 * after it and, if "separate" is set, the comma before it.
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

/* Append a number, which is stored as a numeric. */
static inline char *
append_numeric_node(JsonbWriter *writer, char *to, const char *num,
					const char *end)
{
	/* a jsonb never contains numbers that are compressed or out of line */
	if (unlikely(stored_size(num, end, -1) == 0 ||
				 !stored_varlena_is_plain(num)))
		damaged_value("jsonb");
	return append_numeric(writer->out, to, (Numeric) num);
}

/* Return the offset of the end of a node that begins at "start". */
static inline uint32
node_end(JEntry entry, uint32 start)
{
	uint32		field = JBE_OFFLENFLD(entry);

	return JBE_HAS_OFF(entry) ? field : start + field;
}

/*
 * Append the node whose data is from "start" to "end" in that of its
 * container.  Returns NULL if append_container() does.
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

/* Append an object.  Returns NULL if append_container() does. */
static char *
append_object(JsonbWriter *writer, char *to, const JsonbContainer *object)
{
	uint32		n_pairs = JsonContainerSize(object);
	const JEntry *keys = object->children;
	const JEntry *values = keys + n_pairs;
	const char *data = (const char *) (values + n_pairs);
	uint32		key_start = 0;
	uint32		value_start;

	/*
	 * The data of the values follows that of all keys.  getJsonbOffset() adds
	 * up entries, beginning with one that contains an offset.  All of them
	 * are within the value, as entries_are_sound() has checked.
	 */
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

/*
 * Append an array.  A scalar that is the whole value is stored as an array
 * with one element, and is written without brackets.
 */
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

/* Is this an object or an array whose entries are within the value? */
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
 * Append an object or array.  Returns NULL if it has too many levels, after a
 * part of it has been written.  In a damaged value, containers may share
 * their data, and the text may become very long; the buffer raises an error
 * then.
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
	JsonbWriter writer = {out, encoder->settings, 0, NULL};
	Size		start = to - out->data;
	AlignedValue copy;

	/* entries are read as aligned words, which needs a header of 4 bytes */
	const Jsonb *jsonb = (const Jsonb *) aligned_varlena(value, &copy);

	writer.end = (const char *) jsonb + VARSIZE(jsonb);
	if (encoder->settings->format == ROW_BINARY)
		*to++ = BINARY_VERSION;
	to = append_container(&writer, to, &jsonb->root);
	/* too many levels: let jsonb_out() write, over the part of the text */
	if (unlikely(to == NULL))
		to = encode_by_type_function(encoder, value, out, out->data + start);
	return to;
}

const EncoderRow jsonb_encoders[] = {
	{F_JSONB_OUT, encode_jsonb},
	{F_JSONB_SEND, encode_jsonb},
	{InvalidOid}
};

/* ----------
 * Decoder of jsonb.
 *
 * json_parse() makes nodes of the text.  From these, the stored form is
 * written as convertToJsonb() does (src/backend/utils/adt/jsonb_util.c): the
 * keys of an object first, shorter ones before longer ones, then their values
 * in the same order.  The keys in a dumped jsonb already have this order, and
 * are only sorted if they do not.
 * ----------
 */

/*
 * A longer text, or one with more keys and values, is left to jsonb_in().  A
 * node is twelve times as large as its shortest text, so nodes are not
 * allocated for each value: each column has one array of them.  The memory
 * pages that no value needs are never touched.
 */
#define MAX_JSONB_TEXT	(1024 * 1024)
#define MAX_NODES		8192

/* The state of a decoder. */
typedef struct JsonbSpace
{
	JsonNode	nodes[MAX_NODES];
	uint32		keys[MAX_NODES];
} JsonbSpace;

/*
 * The room that a node may need in addition to its text: a JEntry, padding,
 * and the bytes that a number needs beyond its text, or the header of a
 * container, which is smaller.
 */
#define NODE_ROOM		(sizeof(JEntry) + 3 + NUMERIC_ROOM(0))

/*
 * The input of the functions put_...().  Each of them writes at "to" and
 * returns the place after the bytes that it has written, or NULL if
 * jsonb_in() has to read the value.
 */
typedef struct JsonbBuilder
{
	const JsonNode *nodes;
	uint32	   *keys;			/* unused memory for the nodes of keys */
} JsonbBuilder;

/* Write the padding before a container or a number, which is part of it. */
static inline char *
put_padding(char *to)
{
	uint32		zeros = 0;

	/* up to three bytes are padding; the others are overwritten later */
	memcpy(to, &zeros, sizeof(zeros));
	return (char *) INTALIGN(to);
}

/* Copies whole blocks, so it may read and write almost a block too much. */
static inline char *
put_string(char *to, const JsonNode *node)
{
	for (uint32 i = 0; i < node->len; i += BYTE_BLOCK_SIZE)
		byte_block_store(to + i, byte_block_load(node->text + i));
	return to + node->len;
}

/* Write a number as a numeric.  Returns NULL if it is too long. */
static inline char *
put_number(char *to, const JsonNode *node)
{
	Size		size;

	to = put_padding(to);
	size = put_numeric_of_text(to, node->text, node->len, -1);
	return size > 0 ? to + size : NULL;
}

static char *put_container(JsonbBuilder *writer, uint32 index, char *to);

/* Write the data of a value, and set *type to the type for its JEntry. */
static inline char *
put_value(JsonbBuilder *writer, uint32 index, char *to, JEntry *type)
{
	const JsonNode *node = &writer->nodes[index];

	switch (node->kind)
	{
		case NODE_NULL:
			*type = JENTRY_ISNULL;
			return to;
		case NODE_TRUE:
			*type = JENTRY_ISBOOL_TRUE;
			return to;
		case NODE_FALSE:
			*type = JENTRY_ISBOOL_FALSE;
			return to;
		case NODE_STRING:
			*type = JENTRY_ISSTRING;
			return put_string(to, node);
		case NODE_NUMBER:
			*type = JENTRY_ISNUMERIC;
			return put_number(to, node);
		case NODE_ARRAY:
		case NODE_OBJECT:
			*type = JENTRY_ISCONTAINER;
			return put_container(writer, index, to);
	}
	return NULL;
}

/*
 * Compare two keys as lengthCompareJsonbString() does
 * (src/backend/utils/adt/jsonb_util.c).
 */
static inline int
compare_keys(const JsonNode *a, const JsonNode *b)
{
	if (a->len != b->len)
		return a->len < b->len ? -1 : 1;
	return memcmp(a->text, b->text, a->len);
}

/* A comparison function for qsort_arg(), for indexes of keys in nodes. */
static int
compare_places(const void *a, const void *b, void *nodes)
{
	return compare_keys((JsonNode *) nodes + *(const uint32 *) a,
						(JsonNode *) nodes + *(const uint32 *) b);
}

/*
 * Gather the keys of an object in the order in which they are stored.
 * Returns false if a key occurs twice.  jsonb_in() keeps only its last value
 * then, but has to report errors in the others.  No dumped jsonb has such
 * keys.
 */
static bool
gather_keys(JsonbBuilder *writer, uint32 index)
{
	const JsonNode *nodes = writer->nodes;
	uint32	   *keys = writer->keys;
	uint32		n = nodes[index].len;
	uint32		key = index + 1;
	bool		in_order = true;

	for (uint32 i = 0; i < n; i++)
	{
		keys[i] = key;
		if (i > 0 && compare_keys(&nodes[keys[i - 1]], &nodes[key]) >= 0)
			in_order = false;
		key = nodes[key + 1].next;
	}
	if (likely(in_order))
		return true;

	qsort_arg(keys, n, sizeof(uint32), compare_places, (void *) nodes);
	for (uint32 i = 1; i < n; i++)
	{
		if (compare_keys(&nodes[keys[i - 1]], &nodes[keys[i]]) == 0)
			return false;
	}
	return true;
}

/*
 * Write the JEntry number i, whose data is from "start" to "end".  "first" is
 * the start of the container's data.
 */
static inline void
put_entry(char *entries, uint32 i, JEntry type, const char *first,
		  const char *start, const char *end)
{
	JEntry		entry = type | (end - start);

	/*
	 * Every JB_OFFSET_STRIDE-th entry contains the offset of its end instead
	 * of a length, so that a reader has to add up few lengths.
	 */
	if (i % JB_OFFSET_STRIDE == 0)
		entry = type | (end - first) | JENTRY_HAS_OFF;
	memcpy(entries + i * sizeof(JEntry), &entry, sizeof(JEntry));
}

/* Write a container's header, and set *entries to the place for entries. */
static inline char *
put_header(char *to, uint32 header, uint32 n_entries, char **entries)
{
	to = put_padding(to);
	memcpy(to, &header, sizeof(header));
	*entries = to + sizeof(header);
	return *entries + n_entries * sizeof(JEntry);
}

/*
 * Write an array: its header and its elements.  Each entry is filled in when
 * the end of its element is known.
 */
static char *
put_array(JsonbBuilder *writer, uint32 index, char *to)
{
	uint32		n = writer->nodes[index].len;
	uint32		element = index + 1;
	char	   *entries;
	char	   *first = to = put_header(to, n | JB_FARRAY, n, &entries);

	for (uint32 i = 0; i < n; i++)
	{
		char	   *start = to;
		JEntry		type;

		to = put_value(writer, element, to, &type);
		if (to == NULL)
			return NULL;
		put_entry(entries, i, type, first, start, to);
		element = writer->nodes[element].next;
	}
	return to;
}

/*
 * Write an object: the keys in the order of gather_keys(), then the values in
 * the same order.  The node of a value follows that of its key.
 */
static char *
put_object(JsonbBuilder *writer, uint32 index, char *to)
{
	uint32	   *keys = writer->keys;
	uint32		n = writer->nodes[index].len;
	char	   *entries;
	char	   *first = to = put_header(to, n | JB_FOBJECT, 2 * n, &entries);

	if (!gather_keys(writer, index))
		return NULL;
	/* objects within this one use the memory after its keys */
	writer->keys += n;
	for (uint32 i = 0; i < n; i++)
	{
		char	   *start = to;

		to = put_string(to, &writer->nodes[keys[i]]);
		put_entry(entries, i, JENTRY_ISSTRING, first, start, to);
	}
	for (uint32 i = 0; i < n; i++)
	{
		char	   *start = to;
		JEntry		type;

		to = put_value(writer, keys[i] + 1, to, &type);
		if (to == NULL)
			return NULL;
		put_entry(entries, n + i, type, first, start, to);
	}
	writer->keys = keys;
	return to;
}

static char *
put_container(JsonbBuilder *writer, uint32 index, char *to)
{
	if (writer->nodes[index].kind == NODE_OBJECT)
		return put_object(writer, index, to);
	return put_array(writer, index, to);
}

/* Write the whole value.  A scalar is stored as the element of an array. */
static char *
put_root(JsonbBuilder *writer, char *to)
{
	char	   *entries;
	char	   *start;
	JEntry		type;

	if (writer->nodes[0].kind == NODE_ARRAY ||
		writer->nodes[0].kind == NODE_OBJECT)
		return put_container(writer, 0, to);
	start = put_header(to, 1 | JB_FARRAY | JB_FSCALAR, 1, &entries);
	to = put_value(writer, 0, start, &type);
	if (to != NULL)
		put_entry(entries, 0, type, start, start, to);
	return to;
}

static bool
decode_jsonb(ColumnDecoder *decoder, const char *text, Size len, Datum *value)
{
	JsonbSpace *space = decoder->state;
	JsonbBuilder writer = {.nodes = space->nodes,.keys = space->keys};
	uint32		n_nodes;
	Size		room;
	char	   *result;
	char	   *end;

	/*
	 * The stored form is written into memory that is large enough for it in
	 * any case, so the functions put_...() need not test for its end.
	 */
	if (len > MAX_JSONB_TEXT)
		return false;
	n_nodes = json_parse(text, len, space->nodes, MAX_NODES);
	if (n_nodes == 0)
		return false;
	/* one more for the array around a scalar, which has no node */
	room = VARHDRSZ + len + (n_nodes + 1) * NODE_ROOM;
	result = value_alloc(decoder, room + BYTE_BLOCK_SIZE);
	end = put_root(&writer, result + VARHDRSZ);
	if (end == NULL)
		return false;
	Assert(end <= result + room);
	SET_VARSIZE(result, end - result);
	*value = PointerGetDatum(result);
	return true;
}

const DecoderRow jsonb_decoders[] = {
	{F_JSONB_IN, decode_jsonb,.state_bytes = sizeof(JsonbSpace)},
	{InvalidOid}
};
