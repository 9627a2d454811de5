/*
 * json_fields.h
 *		Writes structs as JSON objects and reads them again.  One table
 *		describes how the members of a struct are written and read, and which
 *		values are refused.  Manifests, plans and journals use it.
 *
 * A table is an array of JsonField that ends with a NULL name.  It has at
 * most 64 fields.  A reader skips members with other names, so that later
 * versions can add members.
 */
#ifndef JSON_FIELDS_H
#define JSON_FIELDS_H

#include "base/json.h"

typedef enum JsonFieldKind
{
	JSON_TEXT,					/* char *; NULL is null.  Text that is not
								 * UTF-8 is "\x" and hexadecimal digits */
	JSON_NAME,					/* like JSON_TEXT, but text that is not UTF-8
								 * is hexadecimal digits in the member
								 * "Encoded-NAME" */
	JSON_DIGITS,				/* char *, hexadecimal digits of up to max
								 * bytes; NULL is null */
	JSON_BYTES,					/* uint8[max], of which "count" are used, as
								 * hexadecimal digits */
	JSON_INT,					/* int, not negative */
	JSON_UINT32,				/* uint32, Oid, BlockNumber */
	JSON_UINT64,
	JSON_BLOCK,					/* int64; null is -1 */
	JSON_BOOL,					/* bool: 0 or 1 */
	JSON_CHAR,					/* char, as a number */
	JSON_TIME,					/* int64, microseconds since 1970: ISO 8601 in
								 * UTC */
	JSON_WORD,					/* an enum or int, written as a word */
	JSON_VERSION,				/* not in the struct; must be max */
	JSON_OBJECT,				/* a pointer to a struct of fields */
	JSON_ARRAY					/* a pointer to "count" elements */
} JsonFieldKind;

typedef enum JsonFieldFlags
{
	JSON_REQUIRED = 1,			/* an object without it is refused, and so is
								 * null for a text */
	JSON_SKIP_NULL = 2			/* not written if NULL or without bytes */
} JsonFieldFlags;

typedef struct JsonField
{
	const char *name;			/* "" in a table with a single field: the
								 * elements are values, not objects */
	JsonFieldKind kind;
	size_t		offset;			/* of the member in its struct */
	int			flags;
	uint64		min;			/* of a number, or of the index in words */
	uint64		max;			/* of a number, or of bytes; 0 = that of the
								 * type */
	const char *const *words;	/* words for values from 0; ends with NULL */
	const struct JsonField *fields; /* of the object, or of an element */
	size_t		size;			/* of the object's struct, or an element's */
	size_t		count;			/* offset of an int with the number of
								 * elements or bytes */

	/* Should the member be written?  NULL means always. */
	bool		(*is_written) (const void *object);
} JsonField;

/* The destination of the JSON text.  The caller has initialized buf. */
typedef struct JsonWriter
{
	PQExpBufferData buf;
	bool		not_utf8;		/* texts have another encoding, so JSON_NAME
								 * encodes all non-ASCII texts */

	/*
	 * Writes and empties buf when it is large.  NULL means that buf keeps the
	 * whole text.
	 */
	void		(*flush) (void *arg, PQExpBuffer buf);
	void	   *arg;
} JsonWriter;

/* Append an object on one line, except for arrays of objects in it. */
extern void json_append_object(JsonWriter *writer, const JsonField *fields,
							   const void *object);

/*
 * Append an object in which each member begins a line.  The caller may append
 * further members, and appends the closing brace.
 */
extern void json_append_document(JsonWriter *writer, const JsonField *fields,
								 const void *object);

/*
 * The error if a JSON_VERSION has another value.  The text may be from a
 * newer release, and is not damaged.
 */
#define JSON_READ_UNSUPPORTED "the file has an unsupported version"
#define JSON_READ_UNSUPPORTED_HINT "Use the release of pg_pardump that wrote the file, or a newer one."

/*
 * Read a text that contains one object into a struct that is all zeros.  On
 * error, including text that is not UTF-8, reader->error is set to a text
 * that names the member; it is valid until the next error of any reader.
 * Members that were read before the error must also be freed with
 * json_free_members().
 */
extern void json_read_document(JsonReader *reader, const char *text,
							   size_t len, const JsonField *fields,
							   void *object);

/* Free the memory that json_read_document() has allocated in the struct. */
extern void json_free_members(const JsonField *fields, void *object);

#endif							/* JSON_FIELDS_H */
