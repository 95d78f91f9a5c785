/* Several requests on one connection. */
#include "hostile.h"

#define A(path) "GET http://a.test:{p}/" path " HTTP/1.1\r\n" A_HOST END
#define B "GET http://b.test:{p}/ HTTP/1.1\r\n" A_HOST END
#define DENIED "GET http://denied.test:{p}/ HTTP/1.1\r\n" A_HOST END
#define POST(lines) POST_A lines "\r\n"
#define CHUNKED "Transfer-Encoding: chunked\r\n"

static const struct hostile rows[] = {
    ROW("two requests in one write", "200 200+", 2, A("1") A("2")),
    ROW("ten requests in one write", "200 200 200 200 200 200 200 200 200 200+",
	10,
	A("1") A("2") A("3") A("4") A("5") A("6") A("7") A("8") A("9") A("")),
    ROW("an empty line between", "200 200+", 2, A("1") "\r\n" A("2")),
    SEES("then another host", "200 200+", 2, A("1") B, "Host: b.test:{p}\r\n"),
    SEES("there and back", "200 200 200+", 3, A("1") B A("2"),
	"Host: b.test:{p}\r\n"),
    ROW("then an address", "200 200+", 2,
	A("1") "GET http://127.0.0.3:{p}/ HTTP/1.1\r\n" A_HOST END),
    ROW("then a denied host", "200 403", 1, A("1") DENIED NEXT),
    ROW("a denied host, then not", "403", 0, DENIED NEXT),
    ROW("then another port", "200 403", 1,
	A("1") "GET http://a.test/ HTTP/1.1\r\n" A_HOST END NEXT),
    ROW("then the proxy itself", "200 400", 1,
	A("1") "GET / HTTP/1.1\r\n" A_HOST END NEXT),
    ROW("then Host says where", "200 403", 1,
	A("1") "GET http://denied.test:{p}/ HTTP/1.1\r\n" A_HOST END NEXT),
    ROW("then a malformed one", "200 400", 1,
	A("1") "GET http://a.test:{p}/ HTTP/1.1\r\nHost : x\r\n\r\n" NEXT),
    ROW("then no request", "200 400", 1, A("1") "\x16\x03\x01\0\0\0\0" NEXT),
    ROW("then nobody listens", "200 502", 1,
	A("1") "GET http://closed.test:{c}/ HTTP/1.1\r\n" A_HOST
	       "Connection: close\r\n\r\n" NEXT),
    ROW("then a name for metadata", "200 403", 1,
	A("1") "GET http://meta.test:{p}/ HTTP/1.1\r\n" A_HOST END NEXT),
    ROW("then an end", "200 200", 2,
	A("1") "GET http://a.test:{p}/ HTTP/1.1\r\n" A_HOST
	       "Connection: close\r\n\r\n" NEXT),
    ROW("a HEAD, then a GET", "200 200+", 2,
	"HEAD http://a.test:{p}/ HTTP/1.1\r\n" A_HOST END A("2")),
    ROW("a length, then a request", "200 200+", 2,
	POST("Content-Length: 5\r\n") "hello" A("2")),
    ROW("a length, then a denied host", "200 403", 1,
	POST("Content-Length: 5\r\n") "hello" DENIED NEXT),
    ROW("a length that is too short", "200 400", 1,
	POST("Content-Length: 4\r\n") "hello GET" NEXT),
    ROW("chunks, then a request", "200 200+", 2,
	POST(CHUNKED) "5\r\nhello\r\n0\r\n\r\n" A("2")),
    ROW("chunks, then a denied host", "200 403", 1,
	POST(CHUNKED) "0\r\n\r\n" DENIED NEXT),
    ROW("chunks that end early", "200 400", 1,
	POST(CHUNKED) "0\r\n\r\nhello\r\n" NEXT),
    ROW("an empty POST, then a request", "200 200+", 2,
	POST("Content-Length: 0\r\n") A("2")),
    ROW("a GET with a body, then a request", "200 200+", 2,
	"GET http://a.test:{p}/ HTTP/1.1\r\n" A_HOST
	"Content-Length: 5\r\n\r\nhello" A("2")),
    SEES("a body that looks like a denied request", "200 200+", 2,
	POST("Content-Length: 30\r\n") "GET http://x.test/ HTTP/1.1\r\n\r" A(
	    "2"),
	"\r\n\r\nGET http://x.test/ HTTP/1.1\r\n\rGET /2 HTTP/1.1\r\n"),
    SEES("a tunnel behind a request", "200 200 200", 2,
	A("1") "CONNECT a.test:{p} HTTP/1.1\r\n" A_HOST END INNER, INNER),
    ROW("a denied tunnel behind a request", "200 403", 1,
	A("1") "CONNECT denied.test:{p} HTTP/1.1\r\n" A_HOST END NEXT),
    SEES("a request in the tunnel for the proxy", "200 200", 1,
	"CONNECT a.test:{p} HTTP/1.1\r\n" A_HOST END
	"GET http://x.test/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
	"GET http://x.test/ HTTP/1.1\r\n"),
    ROW("HTTP/1.0 behind HTTP/1.1", "200 200", 2,
	A("1") "GET http://a.test:{p}/ HTTP/1.0\r\n\r\n" NEXT),
    ROW("100-continue, then a request", "100 200 200+", 2,
	POST("Expect: 100-continue\r\nContent-Length: 5\r\n") "hello" A("2")),
    ROW("another expectation, then a request", "200 417", 1,
	A("1") POST("Expect: x\r\nContent-Length: 5\r\n") "hello" NEXT),
};

const struct hostile_group hostile_chains = GROUP(rows);
