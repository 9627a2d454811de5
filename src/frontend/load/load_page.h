/*
 * load_page.h
 *		The page of --report, of a copy or a restore.
 */
#ifndef LOAD_PAGE_H
#define LOAD_PAGE_H

#include "load/load_account.h"
#include "report/report.h"
#include "session/connection.h"

/*
 * All is done, but for n_errors that a restore passed over: write the page
 * (see report_end()).
 */
extern void load_page_end(Report *page, const LoadAccount *account, int n_errors,
						  const PeerAddress *target_address);

#endif							/* LOAD_PAGE_H */
