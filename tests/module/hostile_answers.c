/* Answers of an origin that is no better than its clients. */
#include "hostile.h"

#define ASK GET_A A_HOST "Connection: close\r\n\r\n"
#define KEEP GET_A A_HOST END
#define HEAD "HEAD http://a.test:{p}/ HTTP/1.1\r\n" A_HOST END
#define OLD "GET http://a.test:{p}/ HTTP/1.0\r\n\r\n"
#define OK "HTTP/1.1 200 OK\r\n"
#define SIZED "Content-Length: 5\r\n"
#define CHUNKED "Transfer-Encoding: chunked\r\n"
#define CHUNKS OK CHUNKED "\r\n"
#define SMUGGLED OK "X: smuggled\r\nContent-Length: 0\r\n\r\n"
#define REFUSED(what, says) SAYS(what, "502", ASK, says, NULL)
/* Its head may be on its way already when what is wrong comes. */
#define CUT(what, says) SAYS(what, "502|200~", ASK, says, NULL)

static const struct hostile rows[] = {
    SAYS("a length", "200+", KEEP, OK SIZED "\r\nhello", "\r\n\r\nhello"),
    SAYS(
	"a length of zero", "200+", KEEP, OK "Content-Length: 0\r\n\r\n", NULL),
    SAYS("chunks", "200+", KEEP, CHUNKS "5\r\nhello\r\n0\r\n\r\n",
	"\r\n\r\n5\r\nhello\r\n0\r\n\r\n"),
    SAYS("chunks with a trailer", "200+", KEEP,
	CHUNKS "5;x\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n", "X-Sum: 1\r\n\r\n"),
    SAYS("until it hangs up", "200", KEEP, OK "\r\nhello", "\r\n\r\nhello"),
    SAYS("until it hangs up, nothing", "200", KEEP, OK "\r\n", NULL),
    SAYS("HTTP/1.0", "200", ASK, "HTTP/1.0 200 OK\r\n\r\nhello",
	"\r\n\r\nhello"),
    SAYS("HTTP/1.0 with a length", "200", ASK,
	"HTTP/1.0 200 OK\r\n" SIZED "\r\nhello", "\r\n\r\nhello"),
    SAYS("no reason", "404", ASK, "HTTP/1.1 404\r\n" SIZED "\r\nhello", NULL),
    SAYS(
	"status 599", "599", ASK, "HTTP/1.1 599 x\r\n" SIZED "\r\nhello", NULL),
    SAYS("HEAD with a length", "200+", HEAD, OK SIZED "\r\n",
	"Content-Length: 5\r\n"),
    SAYS("HEAD with chunks", "200+", HEAD, CHUNKS, NULL),
    SAYS("HEAD with a body all the same", "200+", HEAD,
	OK "Content-Length: 8\r\n\r\nsmuggled", NULL),
    SAYS("204", "204+", KEEP, "HTTP/1.1 204 x\r\n\r\n", NULL),
    SAYS("204 with a body", "204+", KEEP,
	"HTTP/1.1 204 x\r\nContent-Length: 8\r\n\r\nsmuggled", NULL),
    SAYS("304 with a length", "304+", KEEP, "HTTP/1.1 304 x\r\n" SIZED "\r\n",
	"Content-Length: 5\r\n"),
    SAYS("103 before it", "103 200+", KEEP,
	"HTTP/1.1 103 x\r\nLink: y\r\n\r\n" OK SIZED "\r\nhello",
	"Link: y\r\n"),
    SAYS("100 that nobody asked for", "100 200+|200+", KEEP,
	"HTTP/1.1 100 x\r\n\r\n" OK SIZED "\r\nhello", NULL),
    SAYS("103 for HTTP/1.0", "200", OLD,
	"HTTP/1.1 103 x\r\n\r\n" OK SIZED "\r\nhello", NULL),
    SAYS("chunks for HTTP/1.0", "200", OLD,
	CHUNKS "2\r\nhe\r\n3;x\r\nllo\r\n0\r\nX: y\r\n\r\n", "\r\n\r\nhello"),
    SAYS("a second answer that nobody asked for", "200+", KEEP,
	OK SIZED "\r\nhello" SMUGGLED, NULL),
    SAYS("a second answer behind chunks", "200+", KEEP,
	CHUNKS "0\r\n\r\n" SMUGGLED, NULL),
    SAYS("a second answer behind 204", "204+", KEEP,
	"HTTP/1.1 204 x\r\n\r\n" SMUGGLED, NULL),
    SAYS("what is for the proxy only", "200+", KEEP,
	OK "Proxy-Authenticate: smuggled\r\nKeep-Alive: smuggled\r\n"
	   "Connection: X-Hop\r\nX-Hop: smuggled\r\n" SIZED "\r\nhello",
	"Content-Length: 5\r\n"),
    SAYS("Connection names Content-Length", "200+", KEEP,
	OK "Connection: Content-Length\r\n" SIZED "\r\nhello",
	"Content-Length: 5\r\n"),

    REFUSED("nothing", ""),
    REFUSED("half a head", OK "Content-Le"),
    REFUSED("a body alone", "<html>hello</html>"),
    REFUSED("a body of lines", "<html>\r\nhello\r\n\r\n"),
    REFUSED("SSH", "SSH-2.0-x\r\n"),
    REFUSED("a request", "GET / HTTP/1.1\r\n\r\n"),
    REFUSED("an empty line before", "\r\n" OK SIZED "\r\nhello"),
    REFUSED("a blank before", " " OK SIZED "\r\nhello"),
    REFUSED("HTTP/0.9", "HTTP/0.9 200 OK\r\n\r\nhello"),
    REFUSED("HTTP/2.0", "HTTP/2.0 200 OK\r\n" SIZED "\r\nhello"),
    REFUSED("http/1.1", "http/1.1 200 OK\r\n" SIZED "\r\nhello"),
    REFUSED("no status", "HTTP/1.1\r\n" SIZED "\r\nhello"),
    REFUSED("status 099", "HTTP/1.1 099 x\r\n" SIZED "\r\nhello"),
    REFUSED("status 600", "HTTP/1.1 600 x\r\n" SIZED "\r\nhello"),
    REFUSED("status 2000", "HTTP/1.1 2000 x\r\n" SIZED "\r\nhello"),
    REFUSED("status 20", "HTTP/1.1 20 x\r\n" SIZED "\r\nhello"),
    REFUSED("status +20", "HTTP/1.1 +20 x\r\n" SIZED "\r\nhello"),
    REFUSED("status 2x0", "HTTP/1.1 2x0 x\r\n" SIZED "\r\nhello"),
    REFUSED("two blanks", "HTTP/1.1  200 OK\r\n" SIZED "\r\nhello"),
    REFUSED("bare line feeds", "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello"),
    REFUSED("a bare line feed in a field", OK "X: y\n" SIZED "\r\nhello"),
    REFUSED("a bare carriage return", OK "X: y\rz\r\n" SIZED "\r\nhello"),
    REFUSED("a control", OK "X: \x01\r\n" SIZED "\r\nhello"),
    REFUSED("a blank before a colon", OK "X : y\r\n" SIZED "\r\nhello"),
    REFUSED("a blank before the length's colon",
	OK "Content-Length : 5\r\n\r\nhello"),
    REFUSED("a folded field", OK "X: y\r\n z\r\n" SIZED "\r\nhello"),
    REFUSED("a field behind a blank", OK " X: y\r\n" SIZED "\r\nhello"),
    REFUSED("a line without a colon", OK "X\r\n" SIZED "\r\nhello"),
    REFUSED("a length and chunks", OK SIZED CHUNKED "\r\n0\r\n\r\n"),
    REFUSED("two lengths", OK SIZED "Content-Length: 6\r\n\r\nhello"),
    REFUSED("two lengths alike", OK SIZED SIZED "\r\nhello"),
    REFUSED("a list of lengths", OK "Content-Length: 5, 5\r\n\r\nhello"),
    REFUSED("a negative length", OK "Content-Length: -5\r\n\r\nhello"),
    REFUSED("a length over 64 bits",
	OK "Content-Length: 18446744073709551621\r\n\r\nhello"),
    REFUSED("another coding", OK "Transfer-Encoding: gzip\r\n\r\nhello"),
    REFUSED("chunks twice",
	OK "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n"),
    REFUSED(
	"chunks in HTTP/1.0", "HTTP/1.0 200 OK\r\n" CHUNKED "\r\n0\r\n\r\n"),
    REFUSED(
	"101", "HTTP/1.1 101 x\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"),
    REFUSED("103, then nothing that is one", "HTTP/1.1 099 x\r\n\r\n"),

    SAYS("a body that is cut off", "200~", ASK, OK SIZED "\r\nhell", NULL),
    CUT("chunks that are cut off", CHUNKS "5\r\nhell"),
    CUT("chunks without an end", CHUNKS "5\r\nhello\r\n"),
    CUT("a negative chunk", CHUNKS "-1\r\nhello\r\n0\r\n\r\n"),
    CUT("a chunk that overflows", CHUNKS "FFFFFFFFFFFFFFFF\r\nhello"),
    CUT("a chunk that is shorter", CHUNKS "6\r\nhello\r\n0\r\n\r\n"),
    CUT("a chunk that is longer", CHUNKS "4\r\nhello\r\n0\r\n\r\n"),
    CUT("a bare line feed behind a size", CHUNKS "5\nhello\r\n0\r\n\r\n"),
    CUT("a length for a trailer", CHUNKS "0\r\nContent-Length: 5\r\n\r\nhello"),
    CUT("a blank behind a size", CHUNKS "5 \r\nhello\r\n0\r\n\r\n"),
};

const struct hostile_group hostile_answers = GROUP(rows);
