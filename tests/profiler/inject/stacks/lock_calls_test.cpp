// Calls of a library that was linked with and without protection of its links; the test stands for
// Python.
#include "profiler/inject/stacks/lock_calls.h"

#include "tests/support/result_matchers.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

namespace {
std::vector<std::string> g_calls;
}

extern "C" {
__attribute__((visibility("default"))) void* PyEval_SaveThread() {
    g_calls.emplace_back("save");
    return &g_calls;
}
__attribute__((visibility("default"))) void PyEval_RestoreThread(void* state) {
    g_calls.emplace_back(state == &g_calls ? "restore" : "restore another's");
}
}

namespace shardscope::inject {
namespace {

using test::FailsWith;
using test::IsOk;

LockCalls g_theirs;

void* save() {
    g_calls.emplace_back("ours");
    return g_theirs.save();
}
void restore(void* state) {
    g_calls.emplace_back("ours");
    g_theirs.restore(state);
}

class LockCallsTest : public testing::TestWithParam<const char*> {
protected:
    LockCallsTest() { g_calls.clear(); }
    /// What the library calls, once ours are put where its links are.
    static std::vector<std::string> callsOf(const std::string& path) {
        void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) return {::dlerror()};
        auto giveUp = reinterpret_cast<void* (*)()>(::dlsym(library, "give_up"));
        auto take = reinterpret_cast<void (*)(void*)>(::dlsym(library, "take"));
        take(giveUp());
        const auto name = "/" + std::filesystem::path(path).filename().string();
        EXPECT_THAT(replaceLockCalls(name.c_str(), {save, restore}), IsOk());
        take(giveUp());
        return g_calls;
    }
};

TEST_P(LockCallsTest, OursComeBeforePythons) {
    const auto python = pythonLockCalls();
    ASSERT_THAT(python, IsOk());
    g_theirs = *python;
    EXPECT_EQ(callsOf(GetParam()),
              (std::vector<std::string>{"save", "restore", "ours", "save", "ours", "restore"}));
}
INSTANTIATE_TEST_SUITE_P(Links, LockCallsTest,
                         testing::Values(SHARDSCOPE_OPEN_LINKS, SHARDSCOPE_PROTECTED_LINKS));

TEST(LockCalls, WhatIsMissingIsSaid) {
    EXPECT_THAT(replaceLockCalls("/libnot_there.so", {save, restore}),
                FailsWith("/libnot_there.so is not loaded"));
    EXPECT_THAT(replaceLockCalls("/libc.so.6", {save, restore}),
                FailsWith("does not say where it gives up Python's lock"));
}

}  // namespace
}  // namespace shardscope::inject
