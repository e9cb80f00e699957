#include "storage/interchange/kineto/out/output_folder.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

namespace shardscope::interchange::kineto_out {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "rank", kEnding = ".json.gz";

tl::unexpected<Error> cannotWrite(const std::string& path, const std::string& why) {
    return failure(ErrorCode::kUsage,
                   "cannot write " + path + ": " + why + ", choose another name");
}

bool isRankFile(std::string_view name) {
    if (name.size() <= kPrefix.size() + kEnding.size() || !name.starts_with(kPrefix) ||
        !name.ends_with(kEnding))
        return false;
    name = name.substr(kPrefix.size(), name.size() - kPrefix.size() - kEnding.size());
    return std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::string rankFileName(std::uint32_t rank) {
    return std::string(kPrefix).append(std::to_string(rank)).append(kEnding);
}

Result<OutputFolder> OutputFolder::reserve(const storage::OutputRequest& request) {
    std::error_code error;
    std::string name = request.path;
    while (name.size() > 1 && name.back() == '/') name.pop_back();
    if (name.empty()) return failure(ErrorCode::kUsage, "no output: name a folder with --output");
    if (fs::exists(name, error) && !fs::is_directory(name, error))
        return cannotWrite(name, "it is a file, and several ranks need a folder");
    if (fs::is_directory(name, error) && !fs::is_empty(name, error) && !request.overwrite)
        return failure(ErrorCode::kUsage, name +
                                              " is not empty: choose another folder, or write "
                                              "into it with --force");
    OutputFolder folder(request, name, name + ".part-" + std::to_string(getpid()));
    fs::remove_all(folder.m_part, error);
    if (!fs::create_directory(folder.m_part, error))
        return cannotWrite(name, error ? error.message() : "its folder cannot be made");
    return folder;
}

OutputFolder::OutputFolder(OutputFolder&& other) noexcept
    : m_request(std::move(other.m_request)),
      m_path(std::move(other.m_path)),
      m_part(std::exchange(other.m_part, {})),
      m_names(std::move(other.m_names)) {}

OutputFolder& OutputFolder::operator=(OutputFolder&& other) noexcept {
    std::swap(m_request, other.m_request);
    std::swap(m_path, other.m_path);
    std::swap(m_part, other.m_part);
    std::swap(m_names, other.m_names);
    return *this;
}

OutputFolder::~OutputFolder() {
    std::error_code ignored;
    if (!m_part.empty()) fs::remove_all(m_part, ignored);
}

std::string OutputFolder::file(const std::string& name) {
    m_names.push_back(name);
    return m_part + "/" + name;
}

bool OutputFolder::mayReplace(const std::string& name) const {
    storage::OutputRequest request = m_request;
    request.path = m_path + "/" + name;
    return storage::settleOutput(request).has_value();
}

Result<std::vector<std::string>> OutputFolder::commit() {
    std::error_code error;
    std::vector<std::string> files;
    for (const std::string& name : m_names) files.push_back(m_path + "/" + name);
    if (!fs::exists(m_path, error) || fs::is_empty(m_path, error)) {
        fs::rename(m_part, m_path, error);
        if (error) return cannotWrite(m_path, error.message());
        m_part.clear();
        return files;
    }
    for (const std::string& name : m_names) {
        storage::OutputRequest request = m_request;
        request.path = m_path + "/" + name;
        if (auto target = storage::settleOutput(request); !target) return failure(target);
    }
    for (const std::string& name : m_names) {
        fs::rename(m_part + "/" + name, m_path + "/" + name, error);
        if (error) return cannotWrite(m_path + "/" + name, error.message());
    }
    std::vector<fs::path> old;
    for (const auto& entry : fs::directory_iterator(m_path, error)) {
        const std::string name = entry.path().filename().string();
        if (isRankFile(name) && std::find(m_names.begin(), m_names.end(), name) == m_names.end() &&
            mayReplace(name))
            old.push_back(entry.path());
    }
    for (const fs::path& file : old) fs::remove(file, error);
    return files;
}

}  // namespace shardscope::interchange::kineto_out
