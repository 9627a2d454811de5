/*
 * verify_finding.c
 *		Reports findings, and keeps them for the page.
 */
#include "base/fe_compat.h"

#include "base/message.h"
#include "verify/verify_finding.h"

void
verify_finding_file(VerifyCounts *counts, const VerifyFile *file,
					const char *format,...)
{
	char		what[1024];
	char	   *finding;
	size_t		len = strlen(counts->text);
	va_list		args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	finding = psprintf("file \"%s\"%s%s %s", printable(file->name),
					   file->table ? " of table " : "",
					   file->table ? printable(file->table) : "", what);
	pg_log_error("%s", finding);
	if (snprintf(counts->text + len, sizeof(counts->text) - len, "%s\n",
				 finding) >= (int) (sizeof(counts->text) - len))
		counts->text[len] = '\0';
	counts->findings++;
	free(finding);
}

void
verify_finding(VerifyCounts *counts, const char *name, const char *format,...)
{
	VerifyFile	file = {.name = name};
	char		what[1024];
	va_list		args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	verify_finding_file(counts, &file, "%s", what);
}
