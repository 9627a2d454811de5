/*-------------------------------------------------------------------------
 *
 * jsonb.c
 *	  Encoder and decoder of jsonb.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/fmgroids.h"
#include "utils/jsonb.h"
#include "utils/memutils.h"

#include "bytes/escape.h"
#include "bytes/varlena.h"
#include "types/family.h"
#include "types/json.h"
#include "types/numeric.h"

/* ----------
 * Encoder of jsonb.
 *
 * Walks the stored tree and writes what jsonb_out gives
 * (src/backend/utils/adt/jsonb.c: JsonbToCString), with the escapes of JSON
 * and of COPY made in one pass.  The binary form is the same text behind the
 * number of the form's version (jsonb_send).
 *
 * The layout is that of src/include/utils/jsonb.h.  A container is a word
 * with flags and the number of its elements or pairs, an entry (JEntry) for
 * each element, or for each key and then each value, and the data of these,
 * one behind the other.  An entry has the kind of its data, and either
 * their length or where they end, counted from the begin of all the
 * container's data.  Containers within containers, and numbers, begin at a
 * multiple of 4; the padding before them belongs to their length.
 *
 * Nothing of that is believed: each place is compared with the end of the
 * value before something is read there.
 * ----------
 */

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

/* A string that is too long for one reservation, or changes. */
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
	/* numbers in a jsonb are never compressed or out of line by themselves */
	if (unlikely(stored_size(num, end, -1) == 0 ||
				 !stored_varlena_is_plain(num)))
		damaged_value("jsonb");
	return append_numeric(writer->out, to, (Numeric) num);
}

/* The place behind a node that starts at "start", by its entry. */
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

	/*
	 * The values' data lies behind that of all keys.  getJsonbOffset() adds
	 * up entries from one that holds an offset on, all of which
	 * entries_are_sound() has found to be within the value.
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
	JsonbWriter writer = {out, encoder->settings, 0, NULL};
	Size		start = to - out->data;
	AlignedValue copy;

	/* entries are read as aligned words, which a short header spoils */
	const Jsonb *jsonb = (const Jsonb *) aligned_varlena(value, &copy);

	writer.end = (const char *) jsonb + VARSIZE(jsonb);
	if (encoder->settings->format == ROW_BINARY)
		*to++ = BINARY_VERSION;
	to = append_container(&writer, to, &jsonb->root);
	/* too deep: write the value again, over what was written of it */
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
 * The text becomes nodes and these the stored form that convertToJsonb()
 * (src/backend/utils/adt/jsonb_util.c) writes: an object's keys first, the
 * shorter before the longer, then their values in the same order.  The keys
 * of a dumped jsonb are in that order already, and are not sorted then.
 * ----------
 */

/*
 * A longer text, or one of more keys and values, is left to jsonb_in().  A
 * node is twelve times as large as its shortest text, so there is one array
 * of nodes for a column.  Pages of it that no value needs are never touched.
 */
#define MAX_JSONB_TEXT	(1024 * 1024)
#define MAX_NODES		8192

/* A decoder's state. */
typedef struct JsonbSpace
{
	JsonNode	nodes[MAX_NODES];
	uint32		keys[MAX_NODES];
} JsonbSpace;

/*
 * The room that a node may need beside its text: a JEntry, padding, and what
 * a number has more than that of its text, or a container's header.
 */
#define NODE_ROOM		(sizeof(JEntry) + 3 + NUMERIC_ROOM(0))

/*
 * Each put_...() writes at "to" and returns the place behind what it has
 * written, or NULL if the value is not one for us.
 */
typedef struct JsonbBuilder
{
	const JsonNode *nodes;
	uint32	   *keys;			/* free places for the nodes of keys */
} JsonbBuilder;

/* Containers and numbers are aligned; the padding counts as theirs. */
static inline char *
put_padding(char *to)
{
	uint32		zeros = 0;

	/* up to three bytes are padding; what follows overwrites the others */
	memcpy(to, &zeros, sizeof(zeros));
	return (char *) INTALIGN(to);
}

/* Writes up to a block more, and may read as much. */
static inline char *
put_string(char *to, const JsonNode *node)
{
	for (uint32 i = 0; i < node->len; i += BYTE_BLOCK_SIZE)
		byte_block_store(to + i, byte_block_load(node->text + i));
	return to + node->len;
}

static inline char *
put_number(char *to, const JsonNode *node)
{
	Size		size;

	to = put_padding(to);
	size = put_numeric_of_text(to, node->text, node->len, -1);
	return size > 0 ? to + size : NULL;
}

static char *put_container(JsonbBuilder *writer, uint32 index, char *to);

/* Write a value; its JEntry's type goes to *type. */
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

/* src/backend/utils/adt/jsonb_util.c: lengthCompareJsonbString() */
static inline int
compare_keys(const JsonNode *a, const JsonNode *b)
{
	if (a->len != b->len)
		return a->len < b->len ? -1 : 1;
	return memcmp(a->text, b->text, a->len);
}

static int
compare_places(const void *a, const void *b, void *nodes)
{
	return compare_keys((JsonNode *) nodes + *(const uint32 *) a,
						(JsonNode *) nodes + *(const uint32 *) b);
}

/*
 * Gather the keys of an object in the order in which they are stored.  False
 * if one is there twice: jsonb_in() keeps the last value only, but the others
 * may be errors, too.  No dumped jsonb has such keys.
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
 * Put the JEntry of what begins at "start" and ends at "end" to its place,
 * with an offset instead of a length where one has to be.
 */
static inline void
put_entry(char *entries, uint32 i, JEntry type, const char *first,
		  const char *start, const char *end)
{
	JEntry		entry = type | (end - start);

	/*
	 * Every JB_OFFSET_STRIDE-th entry holds the end of its data, counted from
	 * the first, so that a reader adds up few lengths.
	 */
	if (i % JB_OFFSET_STRIDE == 0)
		entry = type | (end - first) | JENTRY_HAS_OFF;
	memcpy(entries + i * sizeof(JEntry), &entry, sizeof(JEntry));
}

/* Write a container's header, whose entries' place goes to *entries. */
static inline char *
put_header(char *to, uint32 header, uint32 n_entries, char **entries)
{
	to = put_padding(to);
	memcpy(to, &header, sizeof(header));
	*entries = to + sizeof(header);
	return *entries + n_entries * sizeof(JEntry);
}

/*
 * Write an array: header, place for its entries, then the elements.  Each
 * entry is filled in when the end of its element is known.
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
 * Write an object: the keys in the order that gather_keys() has found, then
 * the values in the same order.  A value's node is the one behind its key's.
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
	/* objects within this one use the places behind its keys */
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

/* The value that is all of a jsonb; a scalar is in an array of its own. */
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

	if (len > MAX_JSONB_TEXT)
		return false;
	n_nodes = json_parse(text, len, space->nodes, MAX_NODES);
	if (n_nodes == 0)
		return false;
	/* the root's header, or that of a scalar's array, is one more */
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
