/*
 * printable.h
 *		Text of unknown origin in messages.
 *
 * Names come from a server or an archive that others may have filled.  They
 * must not end a line of the log and begin one of their own, nor command a
 * terminal.
 */
#ifndef PRINTABLE_H
#define PRINTABLE_H

#include "base/fe_compat.h"

/*
 * A name with every control character written as \xNN: the text itself if it
 * has none, else a copy that is never freed.
 */
extern const char *printable(const char *text);

/*
 * A message that may have several lines, as a server's have: the second and
 * later ones begin with a tab, so that none of them looks like one of ours.
 * Owned.
 */
extern char *printable_message(const char *text);

#endif							/* PRINTABLE_H */
