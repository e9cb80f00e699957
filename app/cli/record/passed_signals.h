// Signals while a program of the user's runs that has our terminal.
#pragma once

#include "engine/launch/program/program_supervisor.h"
#include "storage/model/file_descriptor.h"
#include "storage/model/result.h"

#include <functional>
#include <utility>

namespace shardscope::cli {

/// Those of another process go to the program; those of the terminal reach it without us.
class PassedSignals {
public:
    /// From now on they wait here.
    static Result<PassedSignals> open();
    void attach(launch::ProgramSupervisor& program);
    /// Calls `pass` with each signal, and whether the terminal sent it.
    void attach(launch::RunControl& run, std::function<void(int number, bool fromTerminal)> pass);
    /// Once the program has ended: whether the user wants no more.
    [[nodiscard]] bool askedToStop() const;

private:
    explicit PassedSignals(FileDescriptor descriptor) : m_descriptor(std::move(descriptor)) {}
    FileDescriptor m_descriptor;
};

}  // namespace shardscope::cli
