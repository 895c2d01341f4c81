/* What a person reads of a life, and the hash that two runs of it are compared by. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/world/heap.h"
#include "tests/sim/world/node.h"
#include "tests/sim/world/parts.h"

enum { LINES_KEPT = 200, LINE_BYTES = 400 };

static struct {
    bool is_traced;
    uint64_t hash;
    char (*lines)[LINE_BYTES];
    uint64_t count;
    void (*epilogue)(void *ctx);
    void *epilogue_ctx;
} transcript;

void transcript_open(bool is_traced)
{
    transcript.is_traced = is_traced;
    transcript.hash = UINT64_C(0xcbf29ce484222325);
    transcript.lines = heap_world_calloc(sizeof *transcript.lines * LINES_KEPT);
}

void transcript_close(void)
{
    heap_world_free(transcript.lines);
    transcript.lines = NULL;
}

bool world_is_traced(void)
{
    return transcript.is_traced;
}

void world_set_epilogue(void (*print)(void *ctx), void *ctx)
{
    transcript.epilogue = print;
    transcript.epilogue_ctx = ctx;
}

void world_trace(int node, const char *format, ...)
{
    char *line = transcript.lines[transcript.count++ % LINES_KEPT];
    int64_t now_us = world_now_us();
    int len = snprintf(line, LINE_BYTES, "%6lld.%06lld ", (long long)(now_us / WORLD_SECOND),
                       (long long)(now_us % WORLD_SECOND));
    len += node == 0 ? snprintf(line + len, LINE_BYTES - (size_t)len, "--  ")
                     : snprintf(line + len, LINE_BYTES - (size_t)len, "n%d  ", node);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line + len, LINE_BYTES - (size_t)len, format, arguments);
    va_end(arguments);
    if (transcript.is_traced) {
        struct heap *from = heap_switch(NULL);
        puts(line);
        heap_switch(from);
    }
}

/* ---- The hash ---- */

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

void world_note(unsigned kind, int node, const void *bytes, size_t len)
{
    uint64_t hash = transcript.hash;
    hash = mix(hash, (uint64_t)world_now_us());
    hash = mix(hash, (uint64_t)kind << 32 | (uint64_t)(unsigned)node << 48 | (uint32_t)len);
    const uint8_t *at = bytes;
    for (; len >= 8; at += 8, len -= 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        hash = mix(hash, word);
    }
    uint64_t rest = 0;
    for (size_t i = 0; i < len; i++) {
        rest |= (uint64_t)at[i] << 8 * i;
    }
    transcript.hash = mix(hash, rest);
}

uint64_t world_hash(void)
{
    return transcript.hash;
}

/* ---- The end of a life that failed ---- */

void world_fail(const char *format, ...)
{
    heap_switch(NULL);
    fflush(stdout);
    if (!transcript.is_traced && transcript.lines != NULL) {
        uint64_t from = transcript.count > LINES_KEPT ? transcript.count - LINES_KEPT : 0;
        for (uint64_t i = from; i < transcript.count; i++) {
            puts(transcript.lines[i % LINES_KEPT]);
        }
    }
    va_list arguments;
    va_start(arguments, format);
    printf("FAILED seed=%llu at=%.6f node=%d: ", (unsigned long long)world_seed(),
           (double)world_now_us() / WORLD_SECOND, node_current());
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
    if (transcript.epilogue != NULL) {
        transcript.epilogue(transcript.epilogue_ctx);
    }
    fflush(stdout);
    system_end_process(1);
}
