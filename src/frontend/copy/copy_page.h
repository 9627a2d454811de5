/*
 * copy_page.h
 *		The page of --report, of a direct copy.
 */
#ifndef COPY_PAGE_H
#define COPY_PAGE_H

#include "copy/copy_account.h"
#include "report/report.h"
#include "session/connection.h"

/* The copy is complete: write the page (see report_end()). */
extern void copy_page_end(Report *page, const CopyAccount *account,
						  const PeerAddress *target_address);

#endif							/* COPY_PAGE_H */
