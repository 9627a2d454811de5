/*
 * hex.h
 *		Converts bytes to hexadecimal digits, two per byte in lower case, and
 *		back.  Manifests, plans and random names use them.
 */
#ifndef HEX_H
#define HEX_H

/* Returns the digits for these bytes; the caller owns them. */
extern char *hex_encode(const void *bytes, size_t len);

/*
 * Returns the digits for n_bytes random bytes; the caller owns them.  Exits
 * with a message if the system has no random bytes.
 */
extern char *hex_random(size_t n_bytes);

/*
 * Converts digits to bytes.  Returns the number of bytes, or -1 if text
 * contains other characters, an odd number of digits, or more than max bytes.
 */
extern int	hex_decode(const char *text, uint8 *bytes, size_t max);

#endif							/* HEX_H */
