/* The table of inject_api.h as a test has it: it writes down what a shim reports. Loaded with
 * ctypes; memory of its own, since it is called while an allocator is. */
#include "profiler/inject/inject_api.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { EVENTS = 1 << 18, NUMBERS = 48, TEXT = 80, DEEPEST = 1000 };

struct Event {
    char kind; /* a letter, as in fake_write() */
    int depth;
    unsigned scope, thread;
    int64_t value, sequence;
    int32_t dtype, rank, size, peer;
    size_t count, tensors;
    int64_t numbers[NUMBERS];
    char text[TEXT], group[32], backend[16];
};

static struct Event events[EVENTS];
static atomic_uint used, threads;
static atomic_ullong collectives;
static atomic_llong alive, peak;
static _Thread_local unsigned thread;
static _Thread_local int depth;
static _Thread_local const void* keys[DEEPEST];

static struct Event* next(char kind) {
    const unsigned at = atomic_fetch_add(&used, 1);
    if (thread == 0) thread = atomic_fetch_add(&threads, 1) + 1;
    struct Event* event = &events[at < EVENTS ? at : EVENTS - 1];
    event->kind = kind;
    event->thread = thread;
    return event;
}

static void span_begin(const struct ShardscopeSpan* span) {
    struct Event* event = next('B');
    snprintf(event->text, TEXT, "%.*s", (int)span->name_length, span->name);
    event->depth = depth;
    keys[depth++] = span->key;
    event->scope = span->scope;
    event->sequence = span->sequence;
    event->count = span->shapes_length;
    event->tensors = span->tensors;
    for (size_t i = 0; i < span->shapes_length && i < NUMBERS; ++i)
        event->numbers[i] = span->shapes[i];
}

static void span_end(const void* key) {
    int at = depth;
    while (at > 0 && keys[at - 1] != key) --at;
    for (; at > 0 && depth >= at; --depth) next('E');
}

static uint64_t collective_issued(const struct ShardscopeCollective* call) {
    struct Event* event = next('C');
    snprintf(event->text, TEXT, "%s", call->operation);
    snprintf(event->group, sizeof event->group, "%s", call->group);
    snprintf(event->backend, sizeof event->backend, "%s", call->backend);
    event->value = call->bytes;
    event->dtype = call->dtype;
    event->rank = call->group_rank;
    event->size = call->group_size;
    event->peer = call->peer;
    event->sequence = (int64_t)atomic_fetch_add(&collectives, 1) + 1;
    return (uint64_t)event->sequence;
}

static void collective_completed(uint64_t number) {
    next('D')->sequence = (int64_t)number;
}
static void collective_failed(uint64_t number) {
    next('F')->sequence = (int64_t)number;
}

static void allocated(const void* block, size_t bytes) {
    struct Event* event = next('A');
    event->value = (int64_t)bytes;
    event->sequence = (int64_t)(intptr_t)block;
    const long long now = atomic_fetch_add(&alive, (long long)bytes) + (long long)bytes;
    long long most = atomic_load(&peak);
    while (now > most && !atomic_compare_exchange_weak(&peak, &most, now)) continue;
}

static void freed(const void* block, size_t bytes) {
    struct Event* event = next('R');
    event->value = (int64_t)bytes;
    event->sequence = (int64_t)(intptr_t)block;
    atomic_fetch_sub(&alive, (long long)bytes);
}

static void log_line(const char* level, const char* text) {
    printf("%s: %s\n", level, text);
}

static void no_forward(void) {}

static const struct ShardscopeApi recording = {SHARDSCOPE_API_VERSION,
                                               sizeof recording,
                                               span_begin,
                                               span_end,
                                               collective_issued,
                                               collective_completed,
                                               collective_failed,
                                               allocated,
                                               freed,
                                               log_line,
                                               no_forward};

static void no_span(const struct ShardscopeSpan* span) {
    (void)span;
}
static void no_end(const void* key) {
    (void)key;
}
static uint64_t no_collective(const struct ShardscopeCollective* call) {
    return call != NULL;
}
static void no_number(uint64_t number) {
    (void)number;
}
static void no_block(const void* block, size_t bytes) {
    (void)block, (void)bytes;
}

/* For measuring a shim alone. */
static const struct ShardscopeApi nothing = {SHARDSCOPE_API_VERSION,
                                             sizeof nothing,
                                             no_span,
                                             no_end,
                                             no_collective,
                                             no_number,
                                             no_number,
                                             no_block,
                                             no_block,
                                             log_line,
                                             no_forward};

SHARDSCOPE_EXPORT const struct ShardscopeApi* fake_api(void) {
    return &recording;
}
SHARDSCOPE_EXPORT const struct ShardscopeApi* fake_nothing(void) {
    return &nothing;
}
SHARDSCOPE_EXPORT long long fake_alive(void) {
    return alive;
}
SHARDSCOPE_EXPORT long long fake_peak(void) {
    return peak;
}
SHARDSCOPE_EXPORT int fake_depth(void) {
    return depth;
}
SHARDSCOPE_EXPORT void fake_clear(void) {
    memset(events, 0, sizeof events[0] * (used < EVENTS ? used : EVENTS));
    used = 0;
}

/* One line for each event, its fields parted by tabs. */
SHARDSCOPE_EXPORT int fake_write(const char* path) {
    FILE* file = fopen(path, "w");
    if (file == NULL || used >= EVENTS) return -1;
    for (unsigned i = 0; i < used; ++i) {
        const struct Event* e = &events[i];
        fprintf(file, "%c\t%u\t%d\t%u\t%s\t%s\t%s\t%lld\t%lld\t%d\t%d\t%d\t%d\t%zu\t", e->kind,
                e->thread, e->depth, e->scope, e->text, e->group, e->backend, (long long)e->value,
                (long long)e->sequence, e->dtype, e->rank, e->size, e->peer, e->tensors);
        for (size_t k = 0; k < e->count && k < NUMBERS; ++k) {
            fprintf(file, "%s%lld", k == 0 ? "" : ",", (long long)e->numbers[k]);
        }
        fputc('\n', file);
    }
    return fclose(file);
}
