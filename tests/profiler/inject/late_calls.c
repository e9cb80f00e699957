/* A program that is recorded, and calls the library where destructors of other libraries would: as
 * its threads end and as it does. It ends with 7; with the argument `threads` when its last thread has
 * ended. */
#include "profiler/inject/inject_api.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kThreads = 16, kCalls = 200 };

static const struct ShardscopeApi* api;

static void work(void) {
    char block[kCalls];
    for (int i = 0; i < kCalls; ++i) {
        struct ShardscopeSpan span;
        memset(&span, 0, sizeof span);
        span.key = i % 3 ? &span : NULL;
        span.name = i % 2 ? "aten::mul" : "a range";
        span.name_length = strlen(span.name);
        span.sequence = i;
        span.scope = i % 2 ? SHARDSCOPE_FUNCTION : SHARDSCOPE_RANGE;
        struct ShardscopeCollective collective;
        memset(&collective, 0, sizeof collective);
        collective.operation = "allreduce_";
        collective.group = "0";
        collective.backend = "gloo";
        collective.group_size = 1;
        api->span_begin(&span);
        api->allocated(block + i, 64);
        api->collective_completed(api->collective_issued(&collective));
        api->freed(block + i, 64);
        api->span_end(span.key);
    }
    api->span_end(NULL); /* two too many */
    api->span_end(block);
}

static pthread_key_t atThreadsEnd;

/* After all thread_local objects of C++. */
static void threadEnds(void* value) {
    (void)value;
    work();
}

static void* thread(void* value) {
    work();
    pthread_setspecific(atThreadsEnd, value);
    return NULL;
}

/* Registered first, so after everything that exit() destroys. */
static void processEnds(void) {
    if (api != NULL) work();
}

/* The library's own thread is none that a process lives for. */
static void leaveByThreads(void) {
    pthread_t last;
    pthread_create(&last, NULL, thread, &atThreadsEnd);
    pthread_detach(last);
    pthread_exit(NULL);
}

static void* symbol(void* library, const char* name) {
    void* found = dlsym(library, name);
    if (found == NULL) fprintf(stderr, "%s is missing\n", name);
    if (found == NULL) exit(1);
    return found;
}

int main(int count, char** words) {
    atexit(processEnds);
    void* library = dlopen(getenv("SHARDSCOPE_INJECT"), RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return 2;
    int (*start)(void) = (int (*)(void))symbol(library, "shardscope_start");
    void (*rank)(int, const char*) = (void (*)(int, const char*))symbol(library, "shardscope_rank");
    void (*step)(const char*) = (void (*)(const char*))symbol(library, "shardscope_step");
    const struct ShardscopeApi* (*table)(void) =
        (const struct ShardscopeApi* (*)(void))symbol(library, "shardscope_api");
    if (start() != 0) return 3;
    rank(0, "RANK");
    api = table();
    pthread_key_create(&atThreadsEnd, threadEnds);
    pthread_t threads[kThreads];
    for (int i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, thread, &atThreadsEnd);
    work();
    step("optimizer");
    for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
    dlclose(library); /* it stays */
    if (count > 1 && strcmp(words[1], "threads") == 0) leaveByThreads();
    exit(7);
}
