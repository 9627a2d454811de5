/*
 * tcp_setting.c
 *		Settings of TCP by which a peer's silent end is noticed.
 */
#include "base/fe_compat.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "pqexpbuffer.h"

#include "session/tcp_setting.h"

#define TCP_USER_TIMEOUT_MS (90 * 1000)

typedef struct TcpSetting
{
	const char *keyword;
	int			option;
	int			value;
} TcpSetting;

static const TcpSetting tcp_settings[] =
{
#ifdef TCP_USER_TIMEOUT
	{"keepalives_idle", TCP_KEEPIDLE, KEEPALIVE_IDLE_S},
	{"keepalives_interval", TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S},
	{"keepalives_count", TCP_KEEPCNT, KEEPALIVE_COUNT},
	{"tcp_user_timeout", TCP_USER_TIMEOUT, TCP_USER_TIMEOUT_MS},
#endif
	{NULL}
};

/* Was the option given, in any way?  libpq gives no default to these. */
static bool
is_given(const PQconninfoOption *options, const char *keyword)
{
	for (; options->keyword; options++)
		if (strcmp(options->keyword, keyword) == 0)
			return options->val != NULL && options->val[0] != '\0';
	return false;
}

void
tcp_setting_apply(PGconn *conn)
{
	PQconninfoOption *options = PQconninfo(conn);

	/* a Unix-domain socket's address is "" */
	if (options == NULL || PQhostaddr(conn) == NULL ||
		PQhostaddr(conn)[0] == '\0')
		return;
	for (const TcpSetting *setting = tcp_settings; setting->keyword; setting++)
		if (!is_given(options, setting->keyword))
			(void) setsockopt(PQsocket(conn), IPPROTO_TCP, setting->option,
							  &setting->value, sizeof(setting->value));
	PQconninfoFree(options);
}

char *
tcp_setting_conninfo(const PQconninfoOption *options, bool takes_rows)
{
	PQExpBufferData buf;

	initPQExpBuffer(&buf);
	for (const TcpSetting *setting = tcp_settings; setting->keyword; setting++)
		if (!is_given(options, setting->keyword) &&
			!(takes_rows && strcmp(setting->keyword, "tcp_user_timeout") == 0))
			appendPQExpBuffer(&buf, " %s=%d", setting->keyword, setting->value);
	return buf.data;
}
