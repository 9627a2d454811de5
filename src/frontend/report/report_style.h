/*
 * report_style.h
 *		How a report looks.
 */
#ifndef REPORT_STYLE_H
#define REPORT_STYLE_H

/* A style sheet (CSS), for light and dark screens and for paper. */
extern const char *const report_style;

#endif							/* REPORT_STYLE_H */
