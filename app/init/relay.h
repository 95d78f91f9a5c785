/*
 * `sbx-init exec`: the way to PID 1 where its socket does not reach the host.
 *
 * Docker's exec puts this process into the run; what comes on its standard
 * input goes to PID 1's socket, what PID 1 says to its standard output, and
 * nothing is looked at. Each way waits for whoever does not read. The end of
 * its input closes the connection at once, which is how PID 1 learns that the
 * host has left; the end of the connection ends it once all is written.
 */
#ifndef SBX_INIT_RELAY_H
#define SBX_INIT_RELAY_H

/* Waits until PID 1 serves; says WIRE_FAIL where it does not. Returns the exit
 * status. */
int relay_run(void);

#endif
