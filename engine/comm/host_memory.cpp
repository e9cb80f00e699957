#include "engine/comm/host_memory.h"

#include "engine/comm/communicator.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace shardscope::comm {

HostMemory::~HostMemory() {
    for (const Block& block : m_blocks) ::munmap(block.address, block.bytes);
}

void* HostMemory::allocate(std::size_t bytes) {
    const std::size_t size = std::max<std::size_t>(bytes, 1);
    void* address = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (address == MAP_FAILED) {
        throw CommunicationError(fmt::format("no memory for a communication buffer of {} bytes: {}",
                                             bytes, std::strerror(errno)));
    }
    const MutexLock lock(m_mutex);
    m_blocks.push_back({address, size});
    return address;
}

}  // namespace shardscope::comm
