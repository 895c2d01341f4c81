/* What is wrong with a disk, and how often that has been felt. */
#ifndef JEPSEN_DISK_FAULTS_H
#define JEPSEN_DISK_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

enum fault_operation {
    FAULT_READ,
    FAULT_WRITE, /* also allocation and change of length */
    FAULT_SYNC,  /* fsync(), fdatasync(), of directories too */
    FAULT_NAME,  /* create, remove, rename */
    FAULT_OPERATIONS
};

#define FAULTS_ALWAYS UINT64_MAX
#define FAULTS_SPACE_ANY UINT64_MAX

struct faults {
    uint64_t failures[FAULT_OPERATIONS]; /* so many of the next ones end with EIO */
    uint64_t space_bytes; /* that may still be allocated; FAULTS_SPACE_ANY: as the real disk has */
    bool is_full_hard;    /* writing over what is allocated fails as well (copy on write) */
    bool is_cut;          /* the power is gone: nothing works */
    bool tears;           /* what is written then may still reach the disk in parts */
    uint64_t chance;      /* of that */
    bool loses;           /* syncs and O_DSYNC are acknowledged and do nothing */
    uint64_t delay_us;    /* of each write and sync */

    uint64_t operations[FAULT_OPERATIONS];
    uint64_t durable_writes; /* with O_DSYNC or O_SYNC */
    uint64_t failed;
    uint64_t refused; /* no space */
    uint64_t lost_syncs;
    uint64_t delayed;
    uint64_t crashes;
    uint64_t lost_pages;
    uint64_t lost_names;
};

/* Counts the operation; 0, or -EIO. */
int faults_check(struct faults *faults, enum fault_operation operation);

/* Takes [bytes] of space, 0 for a name or for what is allocated already; 0, or -ENOSPC. */
int faults_allocate(struct faults *faults, uint64_t bytes, bool is_overwrite);

#endif
