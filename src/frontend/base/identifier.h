/*
 * identifier.h
 *		Parses SQL identifiers, lists of them, and database names, which may
 *		be connection strings.
 *
 * Identifiers are kept as they were written, including quotes, because the
 * server that wrote them knew the encoding, and the keywords of its version.
 */
#ifndef IDENTIFIER_H
#define IDENTIFIER_H

/*
 * Returns the position of the first character "stop" outside of quotes, or
 * the end of the text.  This finds the end of a name or of a list.
 */
extern const char *identifier_skip(const char *text, char stop);

/*
 * Returns the position of the last character "wanted" outside of quotes, or
 * NULL if there is none.
 */
extern char *identifier_last(char *text, char wanted);

/*
 * Split a list of identifiers with commas between them, in len bytes of text.
 * *n gets their number, which is 0 for an empty list.  The caller owns the
 * array and the identifiers.
 */
extern char **identifier_split(const char *list, size_t len, int *n);

/* Returns the identifiers as a list: "a, b".  The caller owns it. */
extern char *identifier_join(char *const *identifiers, int n);

/*
 * Returns the name that an identifier stands for, without quotes.  The caller
 * owns it.
 */
extern char *identifier_unquote(const char *identifier);

/*
 * Returns the index of the identifier with this name, or -1 if there is none.
 */
extern int	identifier_find(char *const *identifiers, int n, const char *name);

/*
 * Does libpq take this text, which may be a database name, for a connection
 * string?  False for NULL.
 */
extern bool identifier_is_conninfo(const char *text);

#endif							/* IDENTIFIER_H */
