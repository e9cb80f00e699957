// What comes through a pipe, as a file: a trace is looked at first and perhaps read more than once,
// which a pipe does not allow.
#pragma once

#include "storage/model/result.h"

#include <chrono>
#include <functional>
#include <string>

namespace shardscope::interchange {

/// What is done about a pipe that has given nothing for `patience`.
struct PipeStall {
    std::chrono::seconds patience;
    std::function<void(const std::string& sentence)> say;  ///< may be empty
};

class StreamCopy {
public:
    /// Whether `path` is standard input ("-"), a FIFO or a socket.
    [[nodiscard]] static bool isStream(const std::string& path);
    /// Copies all of it to `file`, which the copy removes. Asks `goOn` at least every tenth of a
    /// second, also while nothing comes: false is kCancelled. What is no trace is kUnreadable once
    /// its first bytes are there, a pipe that no program writes to once it has stalled.
    static Result<StreamCopy> of(const std::string& path, const std::string& file,
                                 const std::function<bool()>& goOn, const PipeStall& stall);
    StreamCopy(StreamCopy&& other) noexcept;
    StreamCopy& operator=(StreamCopy&& other) noexcept;
    ~StreamCopy();

    [[nodiscard]] const std::string& file() const { return m_file; }

private:
    explicit StreamCopy(std::string file) : m_file(std::move(file)) {}
    std::string m_file;  ///< empty: moved from
};

}  // namespace shardscope::interchange
