#include "jepsen/disk/faults.h"

#include <errno.h>

int faults_check(struct faults *faults, enum fault_operation operation)
{
    faults->operations[operation]++;
    uint64_t *failures = &faults->failures[operation];
    if (faults->is_cut) {
        return -EIO;
    }
    if (*failures == 0) {
        return 0;
    }
    if (*failures != FAULTS_ALWAYS) {
        (*failures)--;
    }
    faults->failed++;
    return -EIO;
}

int faults_allocate(struct faults *faults, uint64_t bytes, bool is_overwrite)
{
    if (faults->space_bytes == FAULTS_SPACE_ANY) {
        return 0;
    }
    bool is_refused = is_overwrite ? faults->space_bytes == 0 && faults->is_full_hard
                                   : faults->space_bytes == 0 || bytes > faults->space_bytes;
    if (is_refused) {
        faults->refused++;
        return -ENOSPC;
    }
    faults->space_bytes -= is_overwrite ? 0 : bytes;
    return 0;
}
