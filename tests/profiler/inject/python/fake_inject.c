/* Stands in for libshardscope_inject.so: appends each call to the file that FAKE_INJECT_LOG names, with
 * the pid, so that tests can compare what the start hook calls. FAKE_INJECT_START: what
 * shardscope_start() returns. FAKE_INJECT_LEVEL: level of all steps. */
#include "inject_api.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int started_in;
static int blocks;

static void say(const char* format, ...) {
    char line[4096];
    const char* path = getenv("FAKE_INJECT_LOG");
    int length = snprintf(line, sizeof line, "%d ", (int)getpid());
    va_list arguments;
    va_start(arguments, format);
    length += vsnprintf(line + length, sizeof line - (size_t)length - 1, format, arguments);
    va_end(arguments);
    if (!path || length >= (int)sizeof line - 1) return;
    line[length++] = '\n';
    int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) return;
    if (write(file, line, (size_t)length) < 0) perror("fake_inject");
    close(file);
}

static int live(void) { return started_in == getpid(); }

int32_t shardscope_start(void) {
    const char* answer = getenv("FAKE_INJECT_START");
    int32_t result = answer ? atoi(answer) : live() ? 1 : 0;
    say("start %d", (int)result);
    if (result >= 0) started_in = getpid();
    return result;
}
const char* shardscope_why(void) { return "the test wants it so"; }
int32_t shardscope_level(void) {
    const char* level = getenv("FAKE_INJECT_LEVEL");
    return level ? atoi(level) : SHARDSCOPE_LIGHT;
}
const struct ShardscopeApi* shardscope_api(void) {
    static const struct ShardscopeApi api = {.version = SHARDSCOPE_API_VERSION, .size = sizeof api};
    return &api;
}
void shardscope_on_level(void (*set)(int32_t)) { say("on_level %d", set != NULL); }
void shardscope_fact(const char* name, const char* value) { say("fact %s=%s", name, value); }
void shardscope_rank(int32_t rank, const char* source) { say("rank %d %s", (int)rank, source); }
void shardscope_first_forward(void) { say("first_forward"); }
void shardscope_step(const char* source) {
    if (blocks) say("blocks %d", blocks);
    blocks = 0;
    say("step %s", source);
}
void shardscope_metric(const char* name, double value) { say("metric %s=%.9g", name, value); }
void shardscope_range_begin(const char* name) { say("range_begin %s", name); }
void shardscope_range_end(void) { say("range_end"); }
void shardscope_block(const void* block, const char* category) {
    ++blocks;
    if (getenv("FAKE_INJECT_BLOCKS")) say("block %p %s", block, category);
}
const char* shardscope_python_stacks(void) {
    say("python_stacks");
    return getenv("FAKE_INJECT_NO_STACKS");
}
void shardscope_log(const char* level, const char* text) { say("log %s %s", level, text); }
void shardscope_flush(int32_t milliseconds) { say("flush %d", (int)milliseconds); }

static shardscope_call_t call;
void shardscope_waits_call(shardscope_call_t given) { call = given; }
static void* wait_in(const char* name, void* method, void* arguments, void* words) {
    say("wait %s", name);
    void* result = call(method, arguments, words);
    say("waited %d", result != NULL);
    return result;
}
void* shardscope_work_wait(void* method, void* arguments, void* words) {
    return wait_in("work", method, arguments, words);
}
void* shardscope_future_wait(void* method, void* arguments, void* words) {
    return wait_in("future", method, arguments, words);
}

/* The same file serves as a shim. */
int32_t shardscope_torch_start(const struct ShardscopeApi* api) {
    say("torch_start %d", api ? (int)api->version : -1);
    return getenv("FAKE_SHIM_START") ? atoi(getenv("FAKE_SHIM_START")) : 0;
}
void shardscope_torch_level(int32_t level) { say("torch_level %d", (int)level); }
