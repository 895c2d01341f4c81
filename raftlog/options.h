/* Whether the options of a raftlog make sense. Pure. */
#ifndef RAFTLOG_OPTIONS_H
#define RAFTLOG_OPTIONS_H

#include "raftlog/raftlog.h"

enum { OPTIONS_PEERS_MAX = 31, OPTIONS_SECRET_BYTES_MIN = 16 };

/* NULL: they do; else what is wrong. */
const char *options_check(const struct raftlog_options *options);

/* The peer that is this node; NULL: it is not among them. */
const struct raftlog_peer *options_self(const struct raftlog_options *options);

#endif
