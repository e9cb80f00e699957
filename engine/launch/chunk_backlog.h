// Events that wait for a link which is slower than they come: in memory, then in a file without a
// name, which is gone with the process. What was put in first comes out first.
//
// One thread. Sizes in bytes.
#pragma once

#include "engine/launch/file_descriptor.h"
#include "storage/model/result.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace shardscope::launch {

struct BacklogLimits {
    std::size_t memory = 16u << 20;
    std::int64_t disk = 0;  ///< 0: memory only
    std::string folder;     ///< of the file
};

class ChunkBacklog {
public:
    explicit ChunkBacklog(BacklogLimits limits = {}) : m_limits(std::move(limits)) {}

    [[nodiscard]] bool empty() const { return m_bytes == 0; }
    [[nodiscard]] std::int64_t bytes() const { return m_bytes; }
    [[nodiscard]] std::int64_t bytesOnDisk() const { return m_end - m_begin; }
    /// More is held than may be: nothing should be put in any more.
    [[nodiscard]] bool full() const;
    /// Why the disk is not used (any more); empty: it is.
    [[nodiscard]] const std::string& trouble() const { return m_trouble; }

    void push(std::vector<std::byte> frame);
    /// The oldest. An error when the file cannot be read back: what was in it is lost.
    Result<std::vector<std::byte>> pop();
    void clear();

private:
    bool spill(const std::vector<std::byte>& frame);
    bool openFile();
    Result<std::vector<std::byte>> readBack();
    void freeRead();

    BacklogLimits m_limits;
    std::deque<std::vector<std::byte>> m_oldest;  ///< before all on disk
    std::deque<std::size_t> m_sizes;              ///< of the frames on disk
    std::deque<std::vector<std::byte>> m_newest;  ///< after all on disk
    std::size_t m_inMemory = 0;
    std::int64_t m_bytes = 0;
    FileDescriptor m_file;
    std::int64_t m_begin = 0;  ///< of what is still to be read
    std::int64_t m_end = 0;
    std::int64_t m_freed = 0;  ///< before it no disk is taken
    std::string m_trouble;
};

}  // namespace shardscope::launch
