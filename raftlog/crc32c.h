/* CRC-32C (Castagnoli, RFC 3720 appendix B.4): the checksum of batches, snapshots and their frames.
 *
 * Why our own eighty lines and not zlib's crc32(): the polynomial detects more of the errors that
 * disks make (all 3-bit errors up to 256 MiB instead of 11 KiB), and eight table look-ups per eight
 * bytes are as fast as the packaged zlib. */
#ifndef RAFTLOG_CRC32C_H
#define RAFTLOG_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Continues [crc] (0 at the start) over [len] bytes. */
uint32_t crc32c(uint32_t crc, const void *data, size_t len);

#endif
