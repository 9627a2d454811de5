/*
 * restore_unlogged.h
 *		What a crash of the target takes: rows of unlogged tables, and
 *		positions of unlogged sequences.
 *
 * Lines of such rows are unlogged themselves (job_log.h), so another run
 * knows what to load again.  This one does not: what was loaded before the
 * crash, and what is made of it, is not there, and so the run is to end.
 */
#ifndef RESTORE_UNLOGGED_H
#define RESTORE_UNLOGGED_H

#include "restore/restore_state.h"

/*
 * When the target has its tables: which of them are unlogged (work.kinds),
 * and whether a crash has taken rows of runs before; then what is made of
 * rows is to be made again.  Exits with a message if other tables are
 * unlogged than a run before has found, or if some partitions of a table are
 * empty now, whose rows were loaded together.
 */
extern void restore_unlogged_look(Restore *restore);

/*
 * When it is known which rows a run before has loaded: exits with a message
 * if some are gone, and would be loaded again where triggers are by now.
 */
extern void restore_unlogged_check_triggers(const Restore *restore);

/*
 * After the rows, and after all else, with sessions renewed: exits with a
 * message if the target has crashed meanwhile, and has lost rows, or anything
 * unlogged.
 */
extern void restore_unlogged_check_rows(const Restore *restore);
extern void restore_unlogged_check_all(const Restore *restore);

#endif							/* RESTORE_UNLOGGED_H */
