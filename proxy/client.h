/*
 * One connection from the run, from its first byte to its end: a head is read
 * and judged (client.c), its host found and dialled (reach.c), and then it is a
 * tunnel (tunnel.c), one request and its answer (forward.c), or refused.
 *
 * A state's function does what can be done now and returns the state to go on
 * in, its own where it waits.
 */
#ifndef SBX_PROXY_CLIENT_H
#define SBX_PROXY_CLIENT_H

#include "dial.h"
#include "flow.h"
#include "proxy.h"

enum client_state {
	CLIENT_HEAD,	 /* reads a head */
	CLIENT_LOOKUP,	 /* waits for addresses */
	CLIENT_DIAL,	 /* waits for a connection */
	CLIENT_EXCHANGE, /* forwards a request and its answer */
	CLIENT_TUNNEL,
	CLIENT_LINGER, /* has the last word to say, then closes in order */
	CLIENT_OVER,
};

/* What is asked now, or was last: whose host and port far leads to. */
struct request {
	char method[24];
	struct allow_host host;
	uint16_t port;
	struct address address; /* that was dialled; family 0: none yet */
	bool connect;
	bool upgrade;  /* asks for it */
	bool old;      /* HTTP/1.0 */
	bool keep;     /* the run's connection goes on after it */
	bool far_keep; /* and far */
	bool again;    /* may be sent again if far was closed meanwhile */
	bool reused;   /* on a far that an earlier one made */
	bool sent;     /* all of it */
	bool answered; /* the final head has come */
	bool recorded;
	int status;
	int interim;   /* answers of 1xx so far */
	int64_t since; /* monotonic ms */
};

/* What is awaited in a tunnel before bytes go on unread (hello.h). */
enum greeting {
	GREETING_OVER,
	GREETING_HELLO,	 /* of the run; nothing of it goes on before */
	GREETING_ANSWER, /* of far; nothing more of the run does */
	GREETING_AGAIN,	 /* another hello of the run */
};

struct client {
	struct proxy *p;
	struct client *next, *before;
	enum client_state state;

	struct side run, far;
	struct flow up, down;
	struct request request;
	struct buf ask; /* the head that is sent on, until it is answered */

	struct lookup *lookup;
	struct dial *dial;
	enum greeting greeting;
	bool up_over, down_over; /* that way of it */
	bool heading;		 /* a part of a head, or of a hello, has come */
	bool shut;		 /* the run was told that nothing more comes */
	size_t parsed; /* of the head, bytes that were looked at in vain */

	struct timer timer;
	int64_t due;
	int64_t active; /* when a byte moved last */
};

/* A connection that was accepted; full: it is one too many. */
void client_new(struct proxy *p, int fd, bool full);
/* At once, whatever it does. */
void client_free(struct client *c);
/* Do what can be done. It may be gone afterwards. */
void client_step(struct client *c);
/* A new policy holds; what it does not admit ends. It may be gone. */
void client_judge_again(struct client *c);

/* For the states' functions. */
void client_deadline(struct client *c, int64_t ms);
void client_record(struct client *c, enum ledger_verdict verdict, int status,
    const char *reason);
/* Answer that, in place of what was asked, and close. */
enum client_state client_refuse(struct client *c, enum ledger_verdict verdict,
    int status, const char *reason, const char *text);
void client_leave_far(struct client *c);

enum client_state reach_begin(struct client *c);
enum client_state reach_timed_out(struct client *c);
void reach_stop(struct client *c);
/* What is looked up, dialled or connected is still admitted. */
bool reach_is_admitted(const struct client *c);

enum client_state forward_begin(struct client *c);
enum client_state forward_step(struct client *c);

enum client_state tunnel_begin(struct client *c);
/* After a 101, whose head down holds. */
enum client_state tunnel_upgraded(struct client *c);
enum client_state tunnel_step(struct client *c);
enum client_state tunnel_timed_out(struct client *c);

#endif
