/* What libshardscope_inject.so offers inside a recorded program: to the start hook of Python, which
 * calls it through ctypes, and to the shim of a PyTorch version, which gets the table below.
 *
 * Plain C, so that neither needs the other's compiler or standard library. Nothing here throws,
 * ends the program, or waits for the recorder; whatever goes wrong inside becomes one line in the
 * log of the recording, and the calls do nothing from then on. Any thread, unless said otherwise.
 * After fork() the child's calls do nothing until it calls shardscope_start() again; exec() begins
 * anew. No lock is held across fork().
 */
#ifndef SHARDSCOPE_INJECT_API_H
#define SHARDSCOPE_INJECT_API_H

#include <stddef.h>
#include <stdint.h>

/* NOLINTBEGIN(modernize-use-using, modernize-redundant-void-arg): plain C */
#ifdef __cplusplus
extern "C" {
#endif

/* Of the table: a shim that was built for another one is refused. */
#define SHARDSCOPE_API_VERSION 3

/* Levels of capture, as --capture says them (storage/model/detail.h). */
enum { SHARDSCOPE_OFF = 0, SHARDSCOPE_STEPS = 1, SHARDSCOPE_LIGHT = 2, SHARDSCOPE_FULL = 3 };

/* Scopes of a span, as at::RecordScope has them. */
enum { SHARDSCOPE_FUNCTION = 0, SHARDSCOPE_BACKWARD = 1, SHARDSCOPE_RANGE = 7 };

/* Begin of an operator or range of the calling thread. */
struct ShardscopeSpan {
    const void* key;  /* of its end: other open spans of the thread have another; or null */
    const char* name; /* copied; any bytes, not ended by a zero */
    size_t name_length;
    int64_t sequence;      /* links forward and backward operators; -1: none */
    const int64_t* shapes; /* of each tensor its rank, then its sizes; null: not recorded */
    size_t shapes_length;  /* numbers in all */
    const int8_t* dtypes;  /* c10::ScalarType of each tensor */
    size_t tensors;
    /* Of an operator whose cost its tensors alone do not say (convolutions): its other arguments in
     * their order, of each how many numbers it has, then these. Null: none. */
    const int64_t* lists;
    size_t lists_length;
    uint32_t scope;
};

/* One collective, or message between two ranks, as its caller asks for it. */
struct ShardscopeCollective {
    const char* operation; /* of c10d, without namespace: "allreduce_", "_allgather_base_" */
    const char* group;     /* name of the process group, alike on all of its ranks */
    const char* backend;   /* "gloo" */
    int64_t bytes;         /* gathered size, or size before reduction; -1: unknown */
    int32_t dtype;         /* c10::ScalarType; -1: unknown */
    int32_t group_rank;    /* ours */
    int32_t group_size;
    int32_t peer;    /* rank within the group, of send and recv; -1: none, or any */
    int32_t workers; /* collectives of the group that run side by side; 0: unknown */
};

/* What a shim calls. All of them from any thread; none locks except the three of collectives. */
struct ShardscopeApi {
    uint32_t version; /* SHARDSCOPE_API_VERSION */
    uint32_t size;    /* of this struct */
    void (*span_begin)(const struct ShardscopeSpan* span);
    /* Ends the innermost span of the calling thread with this key, and what began within it; none
     * where it has none: one that began on another thread, or was not recorded. */
    void (*span_end)(const void* key);
    /* A number for the other two; 0: it is not recorded. */
    uint64_t (*collective_issued)(const struct ShardscopeCollective* collective);
    void (*collective_completed)(uint64_t number);
    void (*collective_failed)(uint64_t number);
    /* Of the tensor allocator: a block of `bytes` of the CPU. */
    void (*allocated)(const void* block, size_t bytes);
    void (*freed)(const void* block, size_t bytes);
    /* One line in the log of the recording; "info", "warning" or "error". */
    void (*log)(const char* level, const char* text);
    /* shardscope_first_forward(): autograd has begun to keep nodes. */
    void (*first_forward)(void);
};

#define SHARDSCOPE_EXPORT __attribute__((visibility("default")))

/* Connects this process to the recorder that SHARDSCOPE_SOCKET names. 0: it is recorded from now
 * on; 1: it is recorded already; -1: it is not, and shardscope_why() says why. */
SHARDSCOPE_EXPORT int32_t shardscope_start(void);
/* A sentence of the last shardscope_start() of this process; static. */
SHARDSCOPE_EXPORT const char* shardscope_why(void);
/* Level of the step in hand; SHARDSCOPE_OFF while nothing is recorded. */
SHARDSCOPE_EXPORT int32_t shardscope_level(void);

/* The table, for shardscope_torch_start(). Static. */
SHARDSCOPE_EXPORT const struct ShardscopeApi* shardscope_api(void);
/* Called at once with the present level, and then between two steps whenever it changes, on the
 * thread that ends the step. Null: no more. */
SHARDSCOPE_EXPORT void shardscope_on_level(void (*set)(int32_t level));

/* A fact about this process: "torch", "python", "shim" (versions, as text), "role" ("rank",
 * "launcher", "loader", "helper"), "world" (ranks), "model", "parameters", "optimizers", "stacks";
 * of each process group "group:NAME" with its ranks, "0,1,2". Later words replace earlier ones. */
SHARDSCOPE_EXPORT void shardscope_fact(const char* name, const char* value);
/* This process is rank `rank`: what it recorded so far, and from now on, is that rank's. `source`:
 * how that is known, "RANK", "init_process_group", "first optimizer step". Once; later calls with
 * another number are refused with a line in the log. */
SHARDSCOPE_EXPORT void shardscope_rank(int32_t rank, const char* source);

/* Where the first step begins; the first call counts. At full spans say it themselves. */
SHARDSCOPE_EXPORT void shardscope_first_forward(void);
/* A step ends here, and the next begins. `source` ranks higher than those that ended steps before:
 * "shardscope.step", "ProfilerStep", "range", "optimizer" in this order; calls of a lower source
 * than the highest seen so far are ignored. */
SHARDSCOPE_EXPORT void shardscope_step(const char* source);
/* A figure of the step in hand: "loss", "learning_rate", or a name of the user's. */
SHARDSCOPE_EXPORT void shardscope_metric(const char* name, double value);
/* A range of the calling thread, for programs without PyTorch. */
SHARDSCOPE_EXPORT void shardscope_range_begin(const char* name);
SHARDSCOPE_EXPORT void shardscope_range_end(void);
/* Stand for the methods `wait` of torch.distributed.Work and torch.futures.Future: functions of
 * Python (METH_VARARGS | METH_KEYWORDS) whose `self` is the method that they stand for. They call
 * it and return what it returns; from level light on it is a wait of the calling thread. Python's
 * lock is held. `call`: PyObject_Call(), known before the first of them is called. */
typedef void* (*shardscope_call_t)(void* callable, void* arguments, void* words);
SHARDSCOPE_EXPORT void shardscope_waits_call(shardscope_call_t call);
SHARDSCOPE_EXPORT void* shardscope_work_wait(void* method, void* arguments, void* words);
SHARDSCOPE_EXPORT void* shardscope_future_wait(void* method, void* arguments, void* words);
/* From now on operators that begin at level full have the Python functions that asked for them
 * among their arguments. Null; or why not, a sentence that stays. Python's lock is held. */
SHARDSCOPE_EXPORT const char* shardscope_python_stacks(void);
/* Memory category of a live block: "parameter", "gradient", "optimizer". */
SHARDSCOPE_EXPORT void shardscope_block(const void* block, const char* category);
/* One line in the log of the recording. */
SHARDSCOPE_EXPORT void shardscope_log(const char* level, const char* text);
/* Sends what is recorded so far, waiting `milliseconds` at most. Called by exit() as well. */
SHARDSCOPE_EXPORT void shardscope_flush(int32_t milliseconds);

/* What a shim exports. 0: spans, shapes and
 * collectives are reported from now on, at the level that shardscope_torch_level() says; -1: it was
 * built for another table. */
typedef int32_t (*shardscope_torch_start_t)(const struct ShardscopeApi* api);
typedef void (*shardscope_torch_level_t)(int32_t level);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(modernize-use-using, modernize-redundant-void-arg) */
#endif
