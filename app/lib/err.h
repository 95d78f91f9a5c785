/*
 * Errors are values.
 *
 * A function that can fail takes `struct err *e` as its last parameter and
 * returns 0, or -1 after filling *e. Success leaves *e alone. An err has a
 * fixed size: nothing to free, fit for the stack. Only http/problem.def knows
 * what status a kind becomes on the wire, and whether its text may be shown.
 */
#ifndef SBX_LIB_ERR_H
#define SBX_LIB_ERR_H

enum err_kind {
	ERR_NONE = 0,
	ERR_INTERNAL,	     /* a fault of ours, or of the host */
	ERR_INPUT,	     /* a member, header or parameter breaks its rule */
	ERR_JSON,	     /* the body is not one JSON object */
	ERR_PATH,	     /* the request target is malformed */
	ERR_TOO_LARGE,	     /* the body is over its limit */
	ERR_LENGTH,	     /* a length is needed and missing */
	ERR_AUTH,	     /* no valid bearer token */
	ERR_ROUTE,	     /* no such route */
	ERR_METHOD,	     /* the route exists, not with this method */
	ERR_UNSUPPORTED,     /* valid, but this build cannot do it */
	ERR_RUN_ABSENT,	     /* no run of that id */
	ERR_RUN_NOT_RUNNING, /* the run exists, its container has ended */
	ERR_RUN_PAUSED,	     /* the run is held still while it is copied */
	ERR_RUN_EXHAUSTED,   /* the run is at its limit of processes */
	ERR_IMAGE_ABSENT,    /* no such image, here or at its registry */
	ERR_REGISTRY,	     /* the image's registry did not answer properly */
	ERR_ABSENT,	     /* something else named is not there */
	ERR_CONFLICT,	     /* what exists forbids it */
	ERR_CAPACITY,	     /* SBX_MAX_MEMORY_MB leaves no room */
	ERR_LEASE_HELD,	     /* somebody else has the run */
	ERR_LEASE_SUPERSEDED,	/* the credential is not the active lease's */
	ERR_LEASE_PENDING,	/* somebody waits to take the run over */
	ERR_RUN_BUSY,		/* operations are in flight */
	ERR_GONE,		/* it was there, and is not any more */
	ERR_INIT_FAILED,	/* the run's init command failed */
	ERR_EXEC_ABSENT,	/* no exec of that id, or it is forgotten */
	ERR_EXEC_ENDED,		/* the exec has ended, or takes no input */
	ERR_EXEC_OUTPUT,	/* the exec keeps no output */
	ERR_EXEC_MANY,		/* so many kept execs run already */
	ERR_FILE_ABSENT,	/* no such file or directory */
	ERR_FILE_ESCAPES,	/* a path that leads out of its root */
	ERR_FILE_DENIED,	/* the image's user may not */
	ERR_FILE_DIRECTORY,	/* a directory where a file is needed */
	ERR_FILE_NOT_DIRECTORY, /* something else where one is needed */
	ERR_FILE_SPECIAL,	/* a fifo, socket or device */
	ERR_FILE_NOT_EMPTY,	/* a directory that is not empty */
	ERR_FILE_EXISTS,	/* something else is there already */
	ERR_FILE_SPACE,		/* the run's disk is full */
	ERR_FILE_CONDITION,	/* what is there is not what was said */
	ERR_RANGE,		/* a Range that the file does not have */
	ERR_ENGINE,		/* Docker refused, or made no sense */
	ERR_ENGINE_AWAY,	/* Docker cannot be reached */
	ERR_ENGINE_TIMEOUT,	/* Docker did not answer in time */
	ERR_STORE,		/* Redis refused, or made no sense */
	ERR_STORE_AWAY,		/* Redis cannot be reached, or not in time */
	ERR_STORE_SPACE,	/* Redis takes no writes: its disk is full */
	ERR_GUEST,		/* the run's init made no sense, or vanished */
	ERR_PROXY,     /* the run's proxy did not start, or did not answer */
	ERR_NOT_READY, /* the readiness check: something needed is down */
	ERR_BUSY,      /* no thread is free for one more long operation */
	ERR_DRAINING,  /* this worker is shutting down */
	ERR_GONE_AWAY, /* the client left; nobody reads an answer */
	ERR_KINDS
};

struct err {
	enum err_kind kind;
	char text[1500]; /* one sentence, valid UTF-8 only if its inputs are */
};

#define ERR_INIT             \
	{                    \
		ERR_NONE, "" \
	}

/* Fill *e from a format. Always returns -1, to end a function with. */
int err_set(struct err *e, enum err_kind kind, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* As err_set, with ": " and the text of errno appended. */
int err_sys(struct err *e, enum err_kind kind, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Put "<fmt>: " before the text, keeping the kind. Returns -1. */
int err_wrap(struct err *e, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
