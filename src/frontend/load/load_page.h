/*
 * load_page.h
 *		The page of --report, of a copy or a restore.
 */
#ifndef LOAD_PAGE_H
#define LOAD_PAGE_H

#include "load/load_account.h"
#include "report/report.h"
#include "session/connection.h"

/* The copy is complete: write the page (see report_end()). */
extern void load_page_end(Report *page, const LoadAccount *account,
						  const PeerAddress *target_address);

#endif							/* LOAD_PAGE_H */
