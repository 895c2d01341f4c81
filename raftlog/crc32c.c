#include "raftlog/crc32c.h"

#include <pthread.h>

enum { POLYNOMIAL_REFLECTED_HIGH = 0x82f6, POLYNOMIAL_REFLECTED_LOW = 0x3b78 };

static uint32_t table[8][256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fill(void)
{
    const uint32_t polynomial =
        (uint32_t)POLYNOMIAL_REFLECTED_HIGH << 16 | (uint32_t)POLYNOMIAL_REFLECTED_LOW;
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++) {
            crc = (crc & 1) != 0 ? crc >> 1 ^ polynomial : crc >> 1;
        }
        table[0][i] = crc;
    }
    for (uint32_t i = 0; i < 256; i++) {
        for (int k = 1; k < 8; k++) {
            uint32_t before = table[k - 1][i];
            table[k][i] = before >> 8 ^ table[0][before & 0xff];
        }
    }
}

/* Eight bytes per step ("slicing by 8", Kounavis and Berry 2005). */
uint32_t crc32c(uint32_t crc, const void *data, size_t len)
{
    pthread_once(&once, fill);
    const uint8_t *at = data;
    crc = ~crc;
    for (; len >= 8; at += 8, len -= 8) {
        uint32_t low = crc ^ ((uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
                              (uint32_t)at[3] << 24);
        crc = table[7][low & 0xff] ^ table[6][low >> 8 & 0xff] ^ table[5][low >> 16 & 0xff] ^
              table[4][low >> 24] ^ table[3][at[4]] ^ table[2][at[5]] ^ table[1][at[6]] ^
              table[0][at[7]];
    }
    for (; len > 0; at++, len--) {
        crc = crc >> 8 ^ table[0][(crc ^ *at) & 0xff];
    }
    return ~crc;
}
