/*
 * Tests of test_reconcile: the engine is killed while a run is copied. The
 * caller is told, the run goes on (or has ended with the engine), and the next
 * copy works. What is left half-made goes when it is a minute old: so this is
 * looked at last.
 */
#ifndef SBX_E2E_ENGINE_KILLED_H
#define SBX_E2E_ENGINE_KILLED_H

/* With an engine that ends its containers when it ends. */
void a_run_that_ended_with_its_engine_amid_a_snapshot_is_copied(void **state);

/* With live-restore. */
void a_snapshot_whose_engine_is_killed_is_whole_or_nothing(void **state);
void a_warm_commit_whose_engine_is_killed_is_whole_or_nothing(void **state);

/* After all of these. */
void what_was_half_made_when_it_was_killed_is_removed(void **state);

#endif
