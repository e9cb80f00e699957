// Calls the exported plugin the way NCCL 2.28.9 does: one activation mask for all communicators,
// sampled when a call begins; API state of a thread, with its handle that is never cleared;
// tasks collected in groups and launched as plans.
#pragma once

#include "profiler/collectors/nccl/nccl_plugin.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace shardscope::collectors::test {

class FakeNccl {
public:
    struct Communicator {
        void* context = nullptr;
        std::uint64_t id = 0;
        int ranks = 0;
        std::map<std::string, std::uint64_t> sequences;
    };
    enum class TasksOn : std::uint8_t { kCaller, kOtherThread };

    Communicator initialise(std::uint64_t id, const char* name, int ranks) {
        Communicator made{nullptr, id, ranks, {}};
        EXPECT_EQ(ncclProfiler_v5.init(&made.context, id, &m_mask, name, 1, ranks, 0, nullptr), 0);
        return made;
    }
    static void finalise(Communicator& communicator) {
        EXPECT_EQ(ncclProfiler_v5.finalize(communicator.context), 0);
    }
    [[nodiscard]] int mask() const {
        return std::atomic_ref(const_cast<int&>(m_mask)).load(std::memory_order_relaxed);
    }

    void groupStart() { ++api().depth; }
    void groupEnd(TasksOn where = TasksOn::kCaller) {
        if (--api().depth == 0) launch(where);
    }

    /// `func` is a literal, as NCCL's are.
    void collective(Communicator& communicator, const char* func, std::size_t count,
                    const char* type, bool captured = false, TasksOn where = TasksOn::kCaller) {
        if (communicator.ranks == 1) return;  // a copy, before any hook
        groupStart();
        beginGroupApi(communicator);
        Api& state = api();
        if (state.mask & (nccl::kCollApi | nccl::kColl)) {
            auto descriptor = describe(nccl::kCollApi, state.groupHandle);
            descriptor.collApi = {func, count, type, 0, nullptr, captured};
            start(communicator.context, &state.collHandle, descriptor);
        }
        state.tasks.push_back({&communicator, func, count, type, -1, state.collHandle, state.mask});
        if (state.collHandle != nullptr) stop(state.collHandle);  // and keeps it: maybe stale
        groupEnd(where);
    }

    void pointToPoint(Communicator& communicator, const char* func, std::size_t count,
                      const char* type, int peer) {
        groupStart();
        beginGroupApi(communicator);
        Api& state = api();
        void* handle = nullptr;
        if (state.mask & (nccl::kP2pApi | nccl::kP2p)) {
            auto descriptor = describe(nccl::kP2pApi, state.groupHandle);
            descriptor.p2pApi = {func, count, type, nullptr, false};
            start(communicator.context, &handle, descriptor);
        }
        state.tasks.push_back({&communicator, func, count, type, peer, handle, state.mask});
        if (handle != nullptr) stop(handle);
        groupEnd();
    }

    /// What the proxy thread does later with the handle of the last collective's task.
    std::atomic<void*> lastTask{nullptr};

    static nccl::EventDescriptor describe(std::uint64_t type, void* parent) {
        nccl::EventDescriptor descriptor;
        std::memset(&descriptor, 0x5a, sizeof descriptor);  // NCCL leaves other members as they are
        descriptor.type = type;
        descriptor.parentObj = parent;
        descriptor.rank = 0;
        return descriptor;
    }
    static void start(void* context, void** handle, nccl::EventDescriptor& descriptor) {
        void* const poison = handle;
        *handle = poison;
        EXPECT_EQ(ncclProfiler_v5.startEvent(context, handle, &descriptor), 0);
        EXPECT_NE(*handle, poison) << "the handle was not written";
    }
    static void stop(void* handle) { EXPECT_EQ(ncclProfiler_v5.stopEvent(handle), 0); }

private:
    struct Task {
        Communicator* communicator;
        const char* func;
        std::size_t count;
        const char* type;
        int peer;
        void* apiHandle;
        int mask;
    };
    struct Api {
        int depth = 0;
        int mask = 0;
        void* groupHandle = nullptr;
        void* collHandle = nullptr;
        std::vector<Task> tasks;
    };
    static Api& api() {
        thread_local Api state;
        return state;
    }

    void beginGroupApi(Communicator& communicator) {
        Api& state = api();
        if (!state.tasks.empty()) return;
        state.mask = mask();
        if (state.mask == 0) return;
        auto descriptor = describe(nccl::kGroupApi, nullptr);
        descriptor.groupApi = {false, state.depth};
        start(communicator.context, &state.groupHandle, descriptor);
    }

    /// One plan a communicator, in order of appearance.
    void launch(TasksOn where) {
        Api& state = api();
        while (!state.tasks.empty()) {
            Communicator* communicator = state.tasks.front().communicator;
            std::vector<Task> plan;
            std::erase_if(state.tasks, [&](const Task& task) {
                if (task.communicator != communicator) return false;
                plan.push_back(task);
                return true;
            });
            launchPlan(*communicator, plan, where);
        }
        if (state.groupHandle != nullptr) stop(std::exchange(state.groupHandle, nullptr));
    }
    void launchPlan(Communicator& communicator, const std::vector<Task>& plan, TasksOn where) {
        void* launched = nullptr;
        if (plan.front().mask & nccl::kKernelLaunch) {
            auto descriptor = describe(nccl::kKernelLaunch, api().groupHandle);
            descriptor.kernelLaunch = {nullptr};
            start(communicator.context, &launched, descriptor);
        }
        // cuLaunchKernelEx would run here.
        if (launched != nullptr) stop(launched);
        if (where == TasksOn::kCaller) return runTasks(communicator, plan);
        std::thread([&] { runTasks(communicator, plan); }).join();
    }
    void runTasks(Communicator& communicator, const std::vector<Task>& plan) {
        void* group = nullptr;
        if (plan.front().mask != 0) {
            auto descriptor = describe(nccl::kGroup, nullptr);
            start(communicator.context, &group, descriptor);
        }
        std::vector<void*> handles;
        for (const Task& task : plan) handles.push_back(runTask(communicator, task, group));
        for (void* handle : handles)
            if (handle != nullptr) stop(handle);
        if (group != nullptr) stop(group);
    }
    void* runTask(Communicator& communicator, const Task& task, void* group) {
        void* handle = nullptr;
        if (task.peer >= 0) {
            if ((task.mask & nccl::kP2p) == 0) return nullptr;
            auto descriptor = describe(nccl::kP2p, task.apiHandle);
            descriptor.p2p = {task.func, nullptr, task.type, task.count, task.peer, 2, group};
            start(communicator.context, &handle, descriptor);
            return handle;
        }
        const std::uint64_t sequence = communicator.sequences[task.func]++;
        if ((task.mask & nccl::kColl) == 0) return nullptr;
        const bool bytes =
            std::strcmp(task.func, "AllGather") == 0 || std::strcmp(task.func, "Broadcast") == 0;
        auto descriptor = describe(nccl::kColl, task.apiHandle);
        descriptor.coll = {sequence,
                           task.func,
                           nullptr,
                           nullptr,
                           bytes ? task.count * 2 : task.count,  // callers here use 2-byte types
                           0,
                           bytes ? "ncclInt8" : task.type,
                           8,
                           16,
                           "RING",
                           "LL128",
                           group};
        start(communicator.context, &handle, descriptor);
        lastTask = handle;
        return handle;
    }

    int m_mask = 0;  ///< one of the process
};

}  // namespace shardscope::collectors::test
