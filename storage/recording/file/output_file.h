// A file that a command makes: under another name until it is whole.
#pragma once

#include "storage/model/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace shardscope::storage {

// Whether a command may write its output under a name: the one rule of every verb.
//
// With --force only a regular file is ever replaced that is what the verb writes: never a device,
// a FIFO, a socket, a folder or a symbolic link, nor what a link leads to; not what the same
// command reads, under whatever name, and no recording that is being written.

/// What a verb writes, and so may replace.
struct Replaceable {
    const char* what;                        ///< "a recording"
    bool (*isOne)(const std::string& path);  ///< by the content of a regular file
};

[[nodiscard]] bool isRecording(const std::string& path);
inline constexpr Replaceable kRecording{"a recording", isRecording};

struct OutputRequest {
    std::string path;
    bool overwrite = false;
    Replaceable replaces = kRecording;
    std::vector<std::string> inputs{};  ///< files and folders that the command reads
};

/// kUsage with a sentence where nothing may be written. Changes nothing.
Result<void> settleOutput(const OutputRequest& request);

class OutputFile {
public:
    /// Errors as settleOutput(). `tries`: how many others of this process are made of the
    /// same output, and have to stay for now.
    static Result<OutputFile> reserve(const OutputRequest& request, int tries = 0);
    OutputFile(OutputFile&& other) noexcept;
    OutputFile& operator=(OutputFile&& other) noexcept;
    ~OutputFile();  ///< removes what was not committed

    /// Where to write.
    [[nodiscard]] const std::string& part() const { return m_part; }
    /// What went wrong with the part, said of the file that it would have become: no such file was
    /// written.
    [[nodiscard]] tl::unexpected<Error> failed(const Error& error) const;
    /// Gives the whole file its name, unless what has that name by now may not be replaced.
    Result<void> commit();

private:
    OutputFile(OutputRequest request, std::string part)
        : m_request(std::move(request)), m_part(std::move(part)) {}
    void discard() const;

    OutputRequest m_request;
    std::string m_part;  ///< empty once committed
};

/// These bytes as a whole file, by the rule of settleOutput(), whose errors it has; kFailure where
/// they cannot be written, and what was there stays.
Result<void> writeOutput(const OutputRequest& request, std::string_view bytes);

}  // namespace shardscope::storage
