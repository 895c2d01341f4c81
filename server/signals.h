/* The signals that mean something to a node: TERM, INT, USR1, HUP. Only the loop's thread takes
 * them, and only while the loop listens: libuv puts their default action back when it stops
 * listening, and by that a question for figures would end a node that ends in good order. */
#ifndef SERVER_SIGNALS_H
#define SERVER_SIGNALS_H

enum { SIGNALS_COUNT = 4 };
extern const int signals_numbers[SIGNALS_COUNT];

/* They wait, until they are released or the process is over. For this thread and those that it
 * starts from now on. */
void signals_hold(void);
void signals_release(void);

#endif
