/* What belongs to one connection only, and upgrades. The origin's bytes are
 * searched for what never leaves (test_proxy_hostile.c). */
#include "hostile.h"

#define WITH(lines) GET_A A_HOST lines END
#define OLD "GET http://a.test:{p}/ HTTP/1.0\r\n"
#define SWITCHED                                            \
	"HTTP/1.1 101 Switching\r\nConnection: upgrade\r\n" \
	"Upgrade: websocket\r\n\r\n"                        \
	"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\ninner"
#define PLAIN "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

static const struct hostile rows[] = {
    ROW("credentials for the proxy", "200+", 1,
	WITH("Proxy-Authorization: Basic c2VjcmV0\r\n")),
    ROW("credentials for the proxy, in other letters", "200+", 1,
	WITH("pROXY-aUTHORIZATION: Basic c2VjcmV0\r\n")),
    ROW("Proxy-Connection", "200+", 1,
	WITH("Proxy-Connection: keep-alive\r\n")),
    ROW("Proxy-Connection: close says nothing", "200+", 1,
	WITH("Proxy-Connection: close\r\n")),
    ROW("Keep-Alive", "200+", 1,
	WITH("Connection: keep-alive\r\nKeep-Alive: timeout=5\r\n")),
    ROW("TE", "200+", 1, WITH("Connection: TE\r\nTE: trailers\r\n")),
    ROW("TE that Connection does not name", "200+", 1,
	WITH("TE: trailers, deflate\r\n")),
    SEES(
	"Trailer", "200+", 1, WITH("Trailer: X-Sum\r\n"), "Trailer: X-Sum\r\n"),
    ROW("a field that Connection names", "200+", 1,
	WITH("Connection: X-Hop\r\nX-Hop: smuggled\r\n")),
    ROW("fields that Connection names behind them", "200+", 1,
	WITH("X-Hop: smuggled\r\nx-hop: smuggled\r\n"
	     "Connection: keep-alive , ,, X-HOP\r\n")),
    ROW("two Connection fields", "200+", 1,
	WITH("Connection: X-One\r\nX-One: smuggled\r\n"
	     "connection: X-Two\r\nX-Two: smuggled\r\n")),
    SEES("Connection names Host", "200+", 1, WITH("Connection: Host\r\n"),
	"Host: a.test:{p}\r\n"),
    SEES("Connection names Host and closes", "200", 1,
	WITH("Connection: close, hOST\r\n"), "Host: a.test:{p}\r\n"),
    SEES("Connection names Content-Length", "200+", 1,
	POST_A "Connection: Content-Length\r\nContent-Length: 5\r\n\r\nhello",
	"Content-Length: 5\r\n"),
    SEES("Connection names Transfer-Encoding", "200+", 1,
	POST_A "Connection: transfer-encoding\r\n"
	       "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	"Transfer-Encoding: chunked\r\n"),
    SEES("Connection names Via", "200+", 1,
	WITH("Connection: Via\r\nVia: 1.0 x\r\n"), "Via: 1.1 "),
    SEES("Via", "200+", 1, WITH("Via: 1.0 x\r\n"), "Via: 1.0 x\r\nVia: 1.1 "),
    BAD("a Connection that is no list", "400", WITH("Connection: a b\r\n")),
    BAD("a quoted Connection", "400", WITH("Connection: \"close\"\r\n")),
    BAD("a parameter in Connection", "400", WITH("Connection: close;x\r\n")),
    BAD("a Connection of 33 options", "400",
	WITH("Connection: a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,"
	     "a,a,a,a,a,a,a,a\r\n")),
    SEES("forwards left", "200+", 1,
	"OPTIONS http://a.test:{p}/ HTTP/1.1\r\n" A_HOST
	"Max-Forwards: 7\r\n\r\n",
	"Max-Forwards: 6\r\n"),
    BAD("no forwards left", "501",
	"OPTIONS http://a.test:{p}/ HTTP/1.1\r\n" A_HOST
	"Max-Forwards: 0\r\n\r\n"),

    SEES("HTTP/1.0", "200", 1, OLD END,
	"GET / HTTP/1.1\r\nHost: a.test:{p}\r\n"),
    ROW("HTTP/1.0 and what is behind it", "200", 1, OLD END NEXT),
    ROW("HTTP/1.0 that asks to stay", "200", 1,
	OLD "Connection: keep-alive\r\n\r\n" NEXT),
    ROW("HTTP/1.0 with the old field", "200", 1,
	OLD "Proxy-Connection: keep-alive\r\n\r\n" NEXT),
    ROW("close", "200", 1, WITH("Connection: close\r\n") NEXT),
    ROW("close among others", "200", 1,
	WITH("Connection: keep-alive, ClOsE\r\n") NEXT),
    ROW("keep-alive", "200+", 1, WITH("Connection: keep-alive\r\n")),

    SAYS("an upgrade", "101 200",
	WITH("Connection: Upgrade\r\nUpgrade: websocket\r\n"), SWITCHED,
	"Upgrade: websocket\r\n"),
    SAYS("an upgrade that is not taken", "200+",
	WITH("Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n"),
	PLAIN, "hello"),
    SAYS("an upgrade that nobody asked for", "502",
	WITH("Connection: close\r\n"), SWITCHED, NULL),
    SAYS("an upgrade that Connection does not name", "502",
	WITH("Connection: close\r\nUpgrade: websocket\r\n"), SWITCHED, NULL),
    SAYS("an upgrade in HTTP/1.0", "502",
	OLD "Connection: upgrade\r\nUpgrade: websocket\r\n\r\n", SWITCHED,
	NULL),
    SAYS("an upgrade with a body", "502",
	POST_A "Connection: upgrade, close\r\nUpgrade: websocket\r\n"
	       "Content-Length: 5\r\n\r\nhello",
	SWITCHED, NULL),
    SAYS("an upgrade to h2c", "502",
	WITH("Connection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\n"
	     "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n"),
	"HTTP/1.1 101 x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n", NULL),
    SAYS("a change of protocol without a name", "502",
	WITH("Connection: upgrade, close\r\nUpgrade: websocket\r\n"),
	"HTTP/1.1 101 x\r\n\r\n", NULL),
};

const struct hostile_group hostile_hops = GROUP(rows);
