/*
 * hex.h
 *		Bytes as hexadecimal digits, two for each, in lower case.
 */
#ifndef HEX_H
#define HEX_H

/* Owned. */
extern char *hex_encode(const void *bytes, size_t len);

/* Random bytes; owned.  Exits with a message if there are none. */
extern char *hex_random(size_t n_bytes);

/*
 * The bytes that digits stand for; returns how many, -1 if the text has other
 * characters, half of a byte, or more than max.
 */
extern int	hex_decode(const char *text, uint8 *bytes, size_t max);

#endif							/* HEX_H */
