// The safetensors container: an 8-byte little-endian header length, a JSON header that names
// every tensor with type, shape and place, then the data without gaps
// (github.com/huggingface/safetensors, "Format"). Little-endian hosts only. Any thread.
#pragma once

#include "storage/model/result.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace shardscope::checkpoint {

struct TensorInfo {
    std::string name;
    std::string dtype = "F32";
    std::vector<std::int64_t> shape;
    std::uint64_t begin = 0;  ///< bytes from the start of the data
    std::uint64_t end = 0;
    [[nodiscard]] std::uint64_t bytes() const { return end - begin; }
};

/// fp32 tensor to be written; `values` stay alive until it is.
struct TensorToWrite {
    std::string name;
    std::vector<std::int64_t> shape;
    std::span<const float> values;
};
using Metadata = std::map<std::string, std::string>;

/// Writes a new file and makes it durable (fsync). An error (kFailure) names the path and why;
/// the unfinished file is removed.
Result<void> writeSafetensors(const std::string& path, const std::vector<TensorToWrite>& tensors,
                              const Metadata& metadata);

/// A file mapped into memory. Opening checks the header whole: types known, shapes and places
/// agree, no gaps or overlaps, nothing beyond the file's end (kUnreadable).
class SafetensorsFile {
public:
    static Result<std::shared_ptr<const SafetensorsFile>> open(const std::string& path);
    ~SafetensorsFile();
    SafetensorsFile(const SafetensorsFile&) = delete;
    SafetensorsFile& operator=(const SafetensorsFile&) = delete;

    [[nodiscard]] const std::string& path() const { return m_path; }
    [[nodiscard]] const std::vector<TensorInfo>& tensors() const { return m_tensors; }
    [[nodiscard]] const TensorInfo* find(const std::string& name) const;
    [[nodiscard]] const Metadata& metadata() const { return m_metadata; }
    [[nodiscard]] std::span<const std::byte> data(const TensorInfo& tensor) const;
    /// Of an F32, F16 or BF16 tensor; any other type is refused by name.
    [[nodiscard]] Result<std::vector<float>> floats(const TensorInfo& tensor) const;
    [[nodiscard]] std::uint64_t size() const { return m_size; }
    /// Of everything before the data.
    [[nodiscard]] std::uint32_t headerChecksum() const;

private:
    SafetensorsFile(std::string path, const std::byte* base, std::uint64_t size)
        : m_path(std::move(path)), m_base(base), m_size(size) {}
    Result<void> readHeader();
    [[nodiscard]] tl::unexpected<Error> damaged(const std::string& what) const;

    std::string m_path;
    const std::byte* m_base;
    std::uint64_t m_size;
    const std::byte* m_data = nullptr;
    std::vector<TensorInfo> m_tensors;
    std::map<std::string, std::size_t> m_byName;
    Metadata m_metadata;
};

/// CRC-32 (IEEE 802.3) of `bytes`.
[[nodiscard]] std::uint32_t checksum(std::span<const std::byte> bytes);

}  // namespace shardscope::checkpoint
