/*
 * printable.h
 *		Text of unknown origin in messages.
 */
#ifndef PRINTABLE_H
#define PRINTABLE_H

#include "fe_compat.h"

/*
 * The text with every control character written as \xNN, lest a name end a log
 * line or command a terminal: the text itself if it has none, else a copy that
 * is never freed.
 */
extern const char *printable(const char *text);

#endif							/* PRINTABLE_H */
