#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/ensure.h"
#include "tests/core/classic/worker.h"

enum { BUCKETS = 1 << 16 };

struct fact {
    struct fact *next;
    char *key;
    char *value;
};

struct facts {
    struct fact *buckets[BUCKETS];
};

struct facts *facts_new(void)
{
    struct facts *facts = calloc(1, sizeof *facts);
    ensure(facts != NULL);
    return facts;
}

void facts_free(struct facts *facts)
{
    for (int i = 0; i < BUCKETS; i++) {
        for (struct fact *fact = facts->buckets[i], *next; fact != NULL; fact = next) {
            next = fact->next;
            free(fact->key);
            free(fact->value);
            free(fact);
        }
    }
    free(facts);
}

static struct fact **place_of(struct facts *facts, const char *key)
{
    uint32_t hash = 2166136261u;
    for (const char *at = key; *at != '\0'; at++) {
        hash = (hash ^ (uint8_t)*at) * 16777619u;
    }
    return &facts->buckets[hash % BUCKETS];
}

void facts_say(struct facts *facts, const char *key, const char *value)
{
    struct fact **place = place_of(facts, key);
    for (struct fact *fact = *place; fact != NULL; fact = fact->next) {
        if (strcmp(fact->key, key) == 0) {
            if (strcmp(fact->value, value) != 0) {
                printf("%s was %s, now %s\n", key, fact->value, value);
                abort();
            }
            return;
        }
    }
    struct fact *fact = calloc(1, sizeof *fact);
    ensure(fact != NULL);
    fact->key = strdup(key);
    fact->value = strdup(value);
    fact->next = *place;
    *place = fact;
}
