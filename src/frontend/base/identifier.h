/*
 * identifier.h
 *		Identifiers in SQL text, lists of them, and names of databases.
 *
 * An identifier is kept as it was written, quotes included: the server that
 * wrote it knew the encoding and the key words of its version.
 */
#ifndef IDENTIFIER_H
#define IDENTIFIER_H

/*
 * The first such character that is in no quotes, or the end of the text, be
 * it the end of a name, of a qualified one, or of a list.
 */
extern const char *identifier_skip(const char *text, char stop);

/* The last such character that is in no quotes; NULL if there is none. */
extern char *identifier_last(char *text, char wanted);

/*
 * The identifiers of a list, with commas between them, in len bytes of text.
 * *n is their number, 0 if there is nothing.  Owned, and so are they.
 */
extern char **identifier_split(const char *list, size_t len, int *n);

/* The list of them: "a, b"; owned. */
extern char *identifier_join(char *const *identifiers, int n);

/* The name that an identifier stands for: without quotes; owned. */
extern char *identifier_unquote(const char *identifier);

/* The place of the identifier of this name among n; -1 if there is none. */
extern int	identifier_find(char *const *identifiers, int n, const char *name);

/*
 * Where the name of a database may be given: does libpq take this text for a
 * connection string?  Not if it is NULL.
 */
extern bool identifier_is_conninfo(const char *text);

#endif							/* IDENTIFIER_H */
