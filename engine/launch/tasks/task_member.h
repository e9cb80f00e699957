// A task of a run that is not rank 0's: meets it, starts its node's agent when asked to, waits for
// the end of the run and gives its status.
//
// The process's main thread, which spawn() needs.
#pragma once

#include "engine/launch/tasks/task_environment.h"
#include "storage/model/result.h"

#include <chrono>
#include <functional>
#include <string>

namespace shardscope::launch {

struct TaskService {
    TaskPlace place;
    std::string product;  ///< this build's name and version
    /// How often the task has been asked to end, by signals: once passes it on as a wish to stop,
    /// twice to kill, and three times ends the task at once.
    std::function<int()> timesAsked;
    std::chrono::milliseconds patience;  ///< with rank 0's task, until it is met
    /// Says once that it waits for rank 0's task and why, after that time; empty: nothing is said.
    std::function<void(const std::string&)> say = {};
    std::chrono::milliseconds sayAfter = std::chrono::seconds(30);
};

/// The run's exit status. kLaunch when rank 0's task is not there, refuses, or is lost;
/// kInterrupted when it was asked to end before it met it.
Result<int> serveAsTask(const TaskService& service);

}  // namespace shardscope::launch
