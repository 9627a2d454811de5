/*
 * typed_password.h
 *		Passwords that the user types: asked for at most once for each server
 *		and role.
 */
#ifndef TYPED_PASSWORD_H
#define TYPED_PASSWORD_H

#include "base/fe_compat.h"

#include "fe_utils/connect_utils.h"

/*
 * The password that was typed for the server and role of these parameters, in
 * this process or before it was forked, or NULL.  It is empty if the user
 * typed none.  Borrowed.
 */
extern const char *typed_password_find(const ConnParams *params);

/*
 * Ask for the password on /dev/tty, or else on the terminal that is standard
 * input, and keep the answer in memory.  With -W (prompt_password is TRI_YES)
 * a line of standard input is read if there is no terminal, as
 * simple_prompt() does; otherwise NULL is returned and nothing is asked.  A
 * signal ends the program, with its exit stack, after the terminal's echo has
 * been restored.  Borrowed.
 */
extern const char *typed_password_ask(const ConnParams *params);

/* Is there a terminal to ask on? */
extern bool typed_password_has_terminal(void);

#endif							/* TYPED_PASSWORD_H */
