/* Little-endian numbers in memory: the library's wire and disk formats. (Ours are big-endian and go
 * through rpc/buf.h and the readers below.) */
#ifndef RAFTLOG_BYTES_H
#define RAFTLOG_BYTES_H

#include <stdint.h>

static inline uint32_t bytes_le32(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static inline uint64_t bytes_le64(const uint8_t *at)
{
    return (uint64_t)bytes_le32(at) | (uint64_t)bytes_le32(at + 4) << 32;
}

static inline uint16_t bytes_be16(const uint8_t *at)
{
    return (uint16_t)(at[0] << 8 | at[1]);
}

static inline uint32_t bytes_be32(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | (uint32_t)at[3];
}

static inline uint64_t bytes_be64(const uint8_t *at)
{
    return (uint64_t)bytes_be32(at) << 32 | (uint64_t)bytes_be32(at + 4);
}

#endif
