/* The disk of lossfs: a backing directory, what of it is not durable, what is wrong with it. */
#ifndef JEPSEN_DISK_DISK_H
#define JEPSEN_DISK_DISK_H

#include <pthread.h>

#include "jepsen/disk/faults.h"
#include "jepsen/disk/files.h"
#include "jepsen/disk/names.h"
#include "rpc/buf.h"

struct disk {
    pthread_mutex_t lock; /* over all below */
    struct files files;
    struct names names;
    struct faults faults;
};

/* [store] is a directory; it gets "data", which is what is shown, "trash" and "kept". 0, or
 * a negative errno. */
int disk_open(struct disk *disk, const char *store);

/* Answers a command (lossfs.c lists them); for control_serve(). */
void disk_answer(void *ctx, char *line, struct buf *reply);

#endif
