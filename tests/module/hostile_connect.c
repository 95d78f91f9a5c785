/* Tunnels. What the client sends is all sent at once, then its side ends. */
#include "hostile.h"

#define CONNECT(target) "CONNECT " target " HTTP/1.1\r\n" A_HOST
#define TO(target) CONNECT(target) END
#define OPEN TO("a.test:{p}")
/* A ClientHello (RFC 8446 4.1.2), and its server_name extension. */
#define HELLO(record, message, name)                          \
	"\x16\x03\x01\0" record "\x01\0\0" message "\x03\x03" \
	"rrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrr"                    \
	"\0\0\x02\x13\x01\x01\0" name
#define HELLO_A                              \
	HELLO("\x3e", "\x3a",                \
	    "\0\x0f\0\0\0\x0b\0\x09\0\0\x06" \
	    "a.test")
#define HELLO_DENIED                         \
	HELLO("\x43", "\x3f",                \
	    "\0\x14\0\0\0\x10\0\x0e\0\0\x0b" \
	    "denied.test")

static const struct hostile rows[] = {
    SEES("a tunnel", "200 200", 1, OPEN INNER, INNER),
    SEES("capital letters and a dot", "200 200", 1, TO("A.TEST.:{p}") INNER,
	INNER),
    SEES("an address that is listed", "200 200", 1, TO("127.0.0.3:{p}") INNER,
	INNER),
    SEES("below a suffix", "200 200", 1, TO("x.sub.test:{p}") INNER, INNER),
    SEES("HTTP/1.0", "200 200", 1, "CONNECT a.test:{p} HTTP/1.0\r\n\r\n" INNER,
	INNER),
    SEES("Host says another host", "200 200", 1,
	"CONNECT a.test:{p} HTTP/1.1\r\nHost: denied.example\r\n\r\n" INNER,
	INNER),
    SEES("credentials for the proxy", "200 200", 1,
	CONNECT("a.test:{p}") "Proxy-Authorization: Basic c2VjcmV0\r\n"
			      "Proxy-Connection: keep-alive\r\n\r\n" INNER,
	INNER),
    SEES("a length of zero", "200 200", 1,
	CONNECT("a.test:{p}") "Content-Length: 0\r\n\r\n" INNER, INNER),
    SEES("what is no HTTP", "200", 0, OPEN "SSH-2.0-x\r\n\0\xff", "SSH-2.0-x"),
    ROW("nothing", "200", 0, OPEN),
    SEES("TLS for that host", "200", 0, OPEN HELLO_A, "a.test"),
    /* The 200 need not have been on its way yet. */
    ROW("TLS for another host", "200|", 0, OPEN HELLO_DENIED),
    ROW("TLS that is cut off", "200|", 0, OPEN "\x16\x03\x01"),
    ROW("TLS that is malformed", "200|", 0,
	OPEN "\x16\x03\x01\0\x05\x01\0\0\x01smuggled"),

    BAD("a denied host", "403", TO("denied.test:{p}")),
    BAD("a denied host and a request in the tunnel", "403",
	TO("denied.test:{p}") "GET /smuggled HTTP/1.1\r\n\r\n"),
    BAD("a denied host, Host says an admitted one", "403",
	"CONNECT denied.test:{p} HTTP/1.1\r\n" A_HOST END),
    BAD("another port", "403", TO("a.test:22")),
    BAD("the usual port", "403", TO("a.test:443")),
    BAD("below a host that is no suffix", "403", TO("x.a.test:{p}")),
    BAD("ends like a suffix", "403", TO("evilsub.test:{p}")),
    BAD("a public address", "403", TO("93.184.216.34:443")),
    BAD("loopback", "403", TO("127.0.0.1:{p}")),
    BAD("the metadata address", "403", TO("169.254.169.254:80")),
    BAD("the proxy itself", "403", TO("127.0.0.1:{x}")),
    BAD("IPv6 loopback", "403", TO("[::1]:{p}")),
    BAD("IPv4 mapped", "403", TO("[::ffff:127.0.0.1]:80")),
    BAD("IPv4 compatible", "403", TO("[::7f00:1]:80")),
    BAD("IPv4 in NAT64", "403", TO("[64:ff9b::a9fe:a9fe]:443")),
    BAD("IPv4 in 6to4", "403", TO("[2002:a9fe:a9fe::]:80")),
    BAD("carrier-grade NAT", "403", TO("100.64.0.1:80")),
    BAD("a name for metadata", "403", TO("meta.test:{p}")),
    BAD("a name for loopback", "403", TO("loop.test:{p}")),
    BAD("a name for IPv6 loopback", "403", TO("six.test:{p}")),
    BAD("nobody listens", "502", TO("closed.test:{c}")),
    BAD("there is no such name", "502", TO("nx.test:{p}")),

    BAD("no port", "400", TO("a.test")),
    BAD("an empty port", "400", TO("a.test:")),
    BAD("port 0", "400", TO("a.test:0")),
    BAD("port 65536", "400", TO("a.test:65536")),
    BAD("a port that overflows", "400", TO("a.test:65979")),
    BAD("a port of six digits", "400", TO("a.test:000443")),
    BAD("a signed port", "400", TO("a.test:+443")),
    BAD("a port and a path", "400", TO("a.test:443/")),
    BAD("a port and a query", "400", TO("a.test:443?x")),
    BAD("a port and a fragment", "400", TO("a.test:443#x")),
    BAD("two ports", "400", TO("a.test:443:443")),
    BAD("a path before the port", "400", TO("a.test/x:443")),
    BAD("a service for a port", "400", TO("a.test:https")),
    BAD("a user", "400", TO("u@a.test:{p}")),
    BAD("an admitted host before an at", "400", TO("a.test@denied.test:{p}")),
    BAD("absolute form", "400", TO("http://a.test:{p}")),
    BAD("absolute form and a path", "400", TO("http://a.test:{p}/")),
    BAD("origin form", "400", TO("/")),
    BAD("asterisk form", "400", TO("*")),
    BAD("no host", "400", TO(":443")),
    BAD("an IPv6 without brackets", "400", TO("::1:443")),
    BAD("an IPv6 without a port", "400", TO("[::1]")),
    BAD("a name in brackets", "400", TO("[a.test]:{p}")),
    BAD("two trailing dots", "400", TO("a.test..:{p}")),
    BAD("an encoded dot", "400", TO("a%2etest:{p}")),
    BAD("a name in UTF-8", "400", TO("\xf0\x9f\x94\x90.test:443")),
    BAD("a NUL", "400", TO("a.test\0.denied.test:{p}")),
    BAD("a tab", "400", TO("a.test:{p}\t")),
    BAD("a decimal address", "400", TO("2130706433:{p}")),
    BAD("a short hexadecimal address", "400", TO("0x7f.1:{p}")),
    BAD("a dotted octal address", "400", TO("0177.0.0.1:{p}")),
    BAD("a short address", "400", TO("127.1:{p}")),
    BAD("a suffix", "400", TO(".sub.test:{p}")),
    BAD("no Host", "400", "CONNECT a.test:{p} HTTP/1.1\r\n\r\n"),
    BAD("two Hosts", "400", CONNECT("a.test:{p}") A_HOST END),
    BAD("a body", "400",
	CONNECT("a.test:{p}") "Content-Length: 5\r\n\r\nhello"),
    BAD("chunks", "400",
	CONNECT("a.test:{p}") "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    BAD("HTTP/2.0", "505", "CONNECT a.test:{p} HTTP/2.0\r\n" A_HOST END),
    BAD("small letters", "400", "connect a.test:{p} HTTP/1.1\r\n" A_HOST END),
};

const struct hostile_group hostile_connect = GROUP(rows);
