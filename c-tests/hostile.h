/* Tests of test_hostile that are in hostile_shapes.c. */
#ifndef HOSTILE_H
#define HOSTILE_H

void the_limit_counts_for_what_nodes_make(void);
void what_nodes_make_is_seen_inside_of_others(void);
void absurd_shapes_that_nodes_make_are_refused(void);
void shapes_that_are_computed_are_not_known(void);

#endif
