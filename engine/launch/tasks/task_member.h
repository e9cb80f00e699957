// A task of a run that is not rank 0's: meets it, starts its node's agent when asked to, or its own
// program, waits for the end and gives the status.
//
// The process's main thread, which spawn() needs.
#pragma once

#include "engine/launch/frame_channel.h"
#include "engine/launch/tasks/task_environment.h"
#include "engine/run/protocol/messages.h"
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
    /// What its agent may be asked for, but for the keys; asked when it is started.
    std::function<run::TaskTerms()> terms;
    /// Says once that it waits for rank 0's task and why, after that time; at once that the task
    /// that is met there has another secret. Empty: nothing is said.
    std::function<void(const std::string&)> say = {};
    std::chrono::milliseconds sayAfter = std::chrono::seconds(30);
    /// Of a task that records a program of its own: does that, with rank 0's task as the recorder,
    /// and gives the status. Empty: it is a task of a run of our own.
    std::function<Result<int>(FrameChannel recorder)> program = {};
};

/// The run's exit status, or that of the task's own program. kLaunch when rank 0's task is not
/// there, refuses, or is lost, or the agent of this node has refused what it asked for;
/// kInterrupted when it was asked to end before it met it. A task whose words do not prove the
/// run's secret is waited through: it may be a stranger's.
Result<int> serveAsTask(const TaskService& service);

/// In the agent that serveAsTask() has started: its terms, and `recorder` sealed by their keys.
Result<run::TaskTerms> takeTaskTerms(FrameChannel& recorder);

}  // namespace shardscope::launch
