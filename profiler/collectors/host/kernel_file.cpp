#include "profiler/collectors/host/kernel_file.h"

#include <fcntl.h>
#include <unistd.h>

namespace shardscope::collectors {

KernelFile::KernelFile(const char* path) : m_descriptor(open(path, O_RDONLY | O_CLOEXEC)) {}

KernelFile::~KernelFile() {
    if (m_descriptor >= 0) close(m_descriptor);
}

std::string_view KernelFile::read(std::span<char> room) const {
    if (m_descriptor < 0) return {};
    const ssize_t count = pread(m_descriptor, room.data(), room.size(), 0);
    return count <= 0 ? std::string_view()
                      : std::string_view(room.data(), static_cast<std::size_t>(count));
}

}  // namespace shardscope::collectors
