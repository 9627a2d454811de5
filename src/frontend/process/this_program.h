/*
 * this_program.h
 *		Starts and ends this program: clock, standard files, messages,
 *		signals.
 */
#ifndef THIS_PROGRAM_H
#define THIS_PROGRAM_H

/*
 * main() calls this first: prepares clock, standard files, messages, and
 * signals.
 */
extern void this_program_begin(const char *argv0, const char *name);

/* The name from this_program_begin(); borrowed. */
extern const char *this_program_name(void);

/*
 * The path of this program for another major version of PostgreSQL, if it is
 * installed in the same way as this one; owned.  NULL if it is not.
 */
extern char *this_program_of_major(int major);

/*
 * The path of a file with this name in PostgreSQL's share directory, relative
 * to the directory of this program; owned.
 */
extern char *this_program_share_file(const char *name);

/*
 * main() calls this last: exits with a message if printed text could not be
 * written, because then a missing result must not look like success.
 */
extern void this_program_check_output(void);

#endif							/* THIS_PROGRAM_H */
