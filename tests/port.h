/*
 * A loopback TCP port for a server of a test.
 *
 * Below the range that the kernel gives to connections (ip(7),
 * ip_local_port_range, from 32768), so that none takes it while the server is
 * down, and at random, so that programs side by side do not meet.
 */
#ifndef SBX_TESTS_PORT_H
#define SBX_TESTS_PORT_H

#include <arpa/inet.h>
#include <stdint.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

static inline int
port_free(void)
{
	for (;;) {
		uint16_t number = 0;

		if (getrandom(&number, sizeof(number), 0) != sizeof(number))
			return -1;
		struct sockaddr_in addr = {.sin_family = AF_INET,
		    .sin_port = htons((uint16_t)(10000 + number % 22000)),
		    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		int rc = bind(fd, (struct sockaddr *)&addr, sizeof(addr));

		(void)close(fd);
		if (rc == 0)
			return ntohs(addr.sin_port);
	}
}

#endif
