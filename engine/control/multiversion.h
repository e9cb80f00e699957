// Compiles a function for several CPUs; the fitting one is chosen when the program starts.
//
// Not under ThreadSanitizer: the choice is made by code that runs before its runtime is ready.
#pragma once

#ifdef __SANITIZE_THREAD__
#define SHARDSCOPE_MULTIVERSION(...)
#else
#define SHARDSCOPE_MULTIVERSION(...) __attribute__((target_clones(__VA_ARGS__)))
#endif
