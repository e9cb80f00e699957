// A folder of this user's only, for the socket of one ssh master; removed with what is in it. One
// that was left by a process that was killed is removed when the next is made.
#pragma once

#include "storage/model/result.h"

#include <string>

namespace shardscope::launch {

class ControlFolder {
public:
    static Result<ControlFolder> make();
    ControlFolder(ControlFolder&& other) noexcept;
    ControlFolder& operator=(ControlFolder&&) = delete;
    ~ControlFolder();

    /// Short enough for the name of a socket, and for what ssh adds while it makes it.
    [[nodiscard]] std::string socket() const { return m_path + "/s"; }

private:
    explicit ControlFolder(std::string path) : m_path(std::move(path)) {}

    std::string m_path;
};

}  // namespace shardscope::launch
