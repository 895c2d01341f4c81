/* Where a node goes whose guard has stopped its process: back to the event loop of sim_run.c. */
#ifndef TESTS_RAFTLOG_SIM_STOP_H
#define TESTS_RAFTLOG_SIM_STOP_H

#include <setjmp.h>

extern jmp_buf sim_stop;

#endif
