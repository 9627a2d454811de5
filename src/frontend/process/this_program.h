/*
 * this_program.h
 *		Start and exit of this program.
 */
#ifndef THIS_PROGRAM_H
#define THIS_PROGRAM_H

/* The first that main() calls: clock, standard files, messages, signals. */
extern void this_program_begin(const char *argv0, const char *name);

/* The name that was given then; borrowed. */
extern const char *this_program_name(void);

/*
 * The path of the same program of another major of PostgreSQL, if it is
 * installed in the same way as this one; owned.  NULL if it is not.
 */
extern char *this_program_of_major(int major);

/*
 * The path of a file of this name in PostgreSQL's share directory, which is
 * found from the directory of this program; owned.
 */
extern char *this_program_share_file(const char *name);

/*
 * The last: exits with a message if what was printed could not be written. A
 * verdict or a plan that could not be written must not look like success.
 */
extern void this_program_check_output(void);

#endif							/* THIS_PROGRAM_H */
