#include "engine/data/dataset.h"

#include "engine/control/observer.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace shardscope::data {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kProbeBytes = 64 << 10;
constexpr std::uintmax_t kLargestFolder = std::uintmax_t{1} << 30;

/// splitmix64 (Steele, Lea, Flood 2014): one step of a counter-based random stream.
std::uint64_t mix(std::uint64_t x) {
    x += 0x9E3779B97F4A7C15ULL;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
    return x ^ (x >> 31);
}

bool isBinary(const std::vector<std::uint8_t>& bytes) {
    const std::size_t probe = std::min(bytes.size(), kProbeBytes);
    return std::memchr(bytes.data(), 0, probe) != nullptr;
}

Result<std::vector<std::uint8_t>> readFile(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    if (!in) {
        return failure(ErrorCode::kUnreadable,
                       fmt::format("cannot read training data {}: {}; check the path and its "
                                   "permissions",
                                   path.string(), std::strerror(errno)));
    }
    return std::vector<std::uint8_t>(std::istreambuf_iterator<char>(in), {});
}

bool hidden(const fs::path& path) {
    return path.filename().string().starts_with('.') || path.filename() == "build";
}

/// All text files below `folder`, in name order, so that every rank sees the same text.
std::vector<fs::path> textFiles(const fs::path& folder) {
    std::vector<fs::path> files;
    std::error_code ignored;
    auto it = fs::recursive_directory_iterator(
        folder, fs::directory_options::skip_permission_denied, ignored);
    for (; it != fs::recursive_directory_iterator(); it.increment(ignored)) {
        if (it->is_directory(ignored) && hidden(it->path())) {
            it.disable_recursion_pending();
        } else if (it->is_regular_file(ignored) && !hidden(it->path())) {
            files.push_back(it->path());
        }
    }
    std::sort(files.begin(), files.end());
    return files;
}

Result<std::vector<std::uint8_t>> readFolder(const fs::path& folder) {
    std::vector<std::uint8_t> all;
    for (const fs::path& path : textFiles(folder)) {
        auto bytes = readFile(path);
        if (!bytes || isBinary(*bytes)) continue;
        all.insert(all.end(), bytes->begin(), bytes->end());
        if (all.size() > kLargestFolder) break;
    }
    if (all.empty()) {
        return failure(ErrorCode::kUnreadable,
                       fmt::format("folder {} holds no text file; give a text file or a folder "
                                   "with some",
                                   folder.string()));
    }
    return all;
}

Result<std::vector<std::uint8_t>> readText(const std::string& path) {
    std::error_code error;
    if (!fs::exists(path, error)) {
        return failure(ErrorCode::kUnreadable,
                       fmt::format("training data {} does not exist; give a text file or a folder "
                                   "of text files",
                                   path));
    }
    if (fs::is_directory(path, error)) return readFolder(path);
    auto bytes = readFile(path);
    if (!bytes) return bytes;
    if (bytes->empty()) {
        return failure(ErrorCode::kUnreadable,
                       fmt::format("training data {} is empty; give a file with text in it", path));
    }
    if (isBinary(*bytes)) {
        return failure(ErrorCode::kUnreadable,
                       fmt::format("training data {} is binary (it holds NUL bytes); give a text "
                                   "file",
                                   path));
    }
    return bytes;
}

}  // namespace

Result<Dataset> Dataset::load(const std::string& path, double heldBack, std::int64_t context) {
    auto tokens = readText(path);
    if (!tokens) return failure(tokens);
    Dataset dataset;
    dataset.m_tokens = std::move(*tokens);
    const auto count = static_cast<std::int64_t>(dataset.m_tokens.size());
    dataset.m_trainingEnd =
        count - static_cast<std::int64_t>(static_cast<double>(count) * heldBack);
    const bool evaluates = heldBack > 0;
    if (dataset.m_trainingEnd <= context + 1 ||
        (evaluates && dataset.validationTokens() <= context + 1)) {
        return failure(
            ErrorCode::kUnreadable,
            fmt::format("training data {} has {} bytes, too few for a context of {} with "
                        "{:.0f} % held back; give more text or lower --context",
                        path, count, context, heldBack * 100));
    }
    return dataset;
}

std::int64_t Dataset::validationTokens() const {
    return static_cast<std::int64_t>(m_tokens.size()) - m_trainingEnd;
}

namespace {

Batch emptyBatch(const BatchPlace& place) {
    const control::MemoryScope scope(MemoryCategory::kInput, "batch");
    return {at::empty({place.rows, place.context}, at::kLong),
            at::empty({place.rows * place.context}, at::kLong)};
}

void fillRow(Batch& batch, const BatchPlace& place, std::int64_t row, const std::uint8_t* source) {
    std::int64_t* tokens = batch.tokens.mutable_data_ptr<std::int64_t>() + row * place.context;
    std::int64_t* targets = batch.targets.mutable_data_ptr<std::int64_t>() + row * place.context;
    for (std::int64_t t = 0; t < place.context; ++t) {
        tokens[t] = source[t];
        targets[t] = source[t + 1];
    }
}

}  // namespace

Batch Dataset::training(const BatchPlace& place) const {
    Batch batch = emptyBatch(place);
    const auto starts = static_cast<std::uint64_t>(m_trainingEnd - place.context - 1);
    for (std::int64_t row = 0; row < place.rows; ++row) {
        std::uint64_t key = place.seed;
        for (std::int64_t part : {place.step, place.microStep, place.rank, row}) {
            key = mix(key ^ static_cast<std::uint64_t>(part));
        }
        fillRow(batch, place, row, m_tokens.data() + key % starts);
    }
    return batch;
}

Batch Dataset::validation(const BatchPlace& place, std::int64_t worldSize,
                          std::int64_t batches) const {
    Batch batch = emptyBatch(place);
    const std::int64_t starts = validationTokens() - place.context - 1;
    const std::int64_t windows = batches * worldSize * place.rows;
    for (std::int64_t row = 0; row < place.rows; ++row) {
        const std::int64_t window = (place.microStep * worldSize + place.rank) * place.rows + row;
        fillRow(batch, place, row, m_tokens.data() + m_trainingEnd + starts * window / windows);
    }
    return batch;
}

}  // namespace shardscope::data
