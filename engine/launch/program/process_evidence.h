// What a process of a recorded program is, and why it may not be recorded, by what /proc says of it
// while it lives.
#pragma once

#include "storage/model/process_facts.h"

#include <sys/types.h>

#include <optional>
#include <string>

namespace shardscope::launch {

/// What the recorder gave the program, by which its processes find it.
struct GivenVariables {
    std::string socket;  ///< "SHARDSCOPE_SOCKET=..."; empty: nothing was given
    std::string hook;    ///< folder of the start hook, first on PYTHONPATH
    uid_t user = 0;      ///< the recorder's
};

struct ProcessEvidence {
    bool seen = false;     ///< its memory map could be read, and the rest stands
    bool python = false;   ///< the interpreter, or a program that has it inside
    bool torch = false;    ///< it has loaded libtorch_cpu.so
    bool library = false;  ///< ours is there: it decides itself what it records
    bool otherUser = false;
    bool noSocket = false;  ///< its environment lacks our variable
    bool noHook = false;    ///< its PYTHONPATH lacks the start hook
    std::string option;     ///< of Python, that keeps the start hook out: "-I"
};

/// `command`: program and arguments, separated by blanks.
[[nodiscard]] ProcessEvidence evidenceOf(pid_t pid, uid_t user, const std::string& command,
                                         const GivenVariables& given,
                                         const std::string& proc = "/proc");

struct NotRecorded {
    std::string reason;  ///< of a process; a sentence without stop
    std::string remedy;
};
/// Of one that never reported. None: there was nothing to record, or our library decided so.
[[nodiscard]] std::optional<NotRecorded> whyNotRecorded(const ProcessEvidence& evidence,
                                                        const GivenVariables& given);

/// What a process is there for that did not say so itself. `name`: of its first thread, as the
/// kernel has it.
[[nodiscard]] ProcessRole roleByCommand(const std::string& name, const std::string& command);

}  // namespace shardscope::launch
