#include "engine/checkpoint/checkpoint.h"
#include "engine/checkpoint/checkpoint_files.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace shardscope::checkpoint {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

tl::unexpected<Error> unreadable(const std::string& path, const std::string& why) {
    return failure(ErrorCode::kUnreadable,
                   fmt::format("checkpoint {} cannot be used: {}", path, why));
}

/// The folder that holds a manifest: `path` itself or the newest in it.
Result<std::string> locate(const std::string& path) {
    std::error_code error;
    if (fs::exists(fs::path(path) / kManifestName, error)) return path;
    const std::vector<std::string> all = wholeCheckpoints(path);
    if (!all.empty()) return all.back();
    const bool there = fs::is_directory(path, error);
    return failure(ErrorCode::kUnreadable,
                   fmt::format("{} {}; name a folder that --checkpoint wrote to, or a step-* "
                               "folder in it",
                               path, there ? "holds no whole checkpoint" : "is no folder"));
}

/// Throws nlohmann's exceptions.
Result<Manifest> manifestOf(const std::string& path, const Json& json) {
    if (json.at("schema") != kSchema)
        return unreadable(path, fmt::format("its manifest is of kind {}, this version reads {}",
                                            json.at("schema").dump(), kSchema));
    Manifest manifest;
    json.at("next_step").get_to(manifest.nextStep);
    json.at("updates").get_to(manifest.updates);
    json.at("loss_scale").get_to(manifest.lossScale);
    json.at("finite_steps").get_to(manifest.finiteSteps);
    json.at("ranks").get_to(manifest.ranks);
    json.at("parameters").get_to(manifest.parameters);
    auto config = run::parseRunConfigJson(json.at("config").dump());
    if (!config) return unreadable(path, config.error().message);
    manifest.config = std::move(*config);
    return manifest;
}

struct RunName {
    StateKind kind;
    std::string parameter;
    std::int64_t begin;
};

/// "KIND/PARAMETER/BEGIN"
std::optional<RunName> runNamed(const std::string& name) {
    const std::size_t first = name.find('/');
    const std::size_t last = name.rfind('/');
    if (first == std::string::npos || last == first) return std::nullopt;
    RunName run{StateKind::kParameter, name.substr(first + 1, last - first - 1), 0};
    const char* end = name.data() + name.size();
    const auto [rest, error] = std::from_chars(name.data() + last + 1, end, run.begin);
    if (error != std::errc{} || rest != end || run.begin < 0) return std::nullopt;
    for (const StateKind kind : kAll<StateKind>) {
        run.kind = kind;
        if (name.compare(0, first, toWord(kind)) == 0) return run;
    }
    return std::nullopt;
}

}  // namespace

Result<Checkpoint> Checkpoint::open(const std::string& path) {
    auto located = locate(path);
    if (!located) return failure(located);
    Checkpoint checkpoint;
    checkpoint.m_path = *located;
    std::ifstream file(*located + "/" + kManifestName);
    std::ostringstream text;
    text << file.rdbuf();
    try {
        const Json json = Json::parse(text.str());
        auto manifest = manifestOf(*located, json);
        if (!manifest) return failure(manifest);
        checkpoint.m_manifest = std::move(*manifest);
        for (const Json& each : json.at("files")) {
            auto opened =
                checkpoint.openFile(each.at("name"), each.at("bytes"), each.at("header_crc32"));
            if (!opened) return failure(opened);
        }
    } catch (const Json::exception& error) {
        return unreadable(*located, fmt::format("{} is damaged: {}", kManifestName, error.what()));
    }
    for (auto& [key, sources] : checkpoint.m_sources)
        std::sort(sources.begin(), sources.end(),
                  [](const Source& a, const Source& b) { return a.begin < b.begin; });
    return checkpoint;
}

Result<void> Checkpoint::openFile(const std::string& name, std::uint64_t bytes,
                                  std::uint32_t header) {
    if (name.find('/') != std::string::npos)
        return unreadable(m_path, fmt::format("its manifest names {}", name));
    auto file = SafetensorsFile::open(m_path + "/" + name);
    if (!file) return unreadable(m_path, file.error().message);
    if ((*file)->size() != bytes || (*file)->headerChecksum() != header)
        return unreadable(m_path, fmt::format("{} is not the file that was written (its size or "
                                              "checksum differs)",
                                              name));
    for (const TensorInfo& tensor : (*file)->tensors()) {
        const auto run = runNamed(tensor.name);
        if (!run || tensor.dtype != "F32" || tensor.shape.size() != 1)
            return unreadable(m_path, fmt::format("{} holds '{}', which is no run of elements",
                                                  name, tensor.name));
        m_sources[{run->kind, run->parameter}].push_back(
            {run->begin, tensor.shape[0], m_files.size(), &tensor, false});
    }
    m_files.push_back(std::move(*file));
    return {};
}

Result<void> Checkpoint::check(const Source& source) const {
    if (source.checked) return {};
    const SafetensorsFile& file = *m_files[source.file];
    const auto expected = file.metadata().find(source.tensor->name);
    const std::string found = fmt::format("{:08x}", checksum(file.data(*source.tensor)));
    if (expected == file.metadata().end() || expected->second != found)
        return unreadable(m_path, fmt::format("'{}' in {} is damaged (its checksum does not fit)",
                                              source.tensor->name, file.path()));
    source.checked = true;
    return {};
}

Result<void> Checkpoint::read(StateKind kind, const std::string& parameter, std::int64_t begin,
                              std::span<float> out) const {
    const auto missing = [&](std::int64_t element) {
        return unreadable(m_path, fmt::format("element {} of the {} of '{}' is in none of its "
                                              "files",
                                              element, toWord(kind), parameter));
    };
    const auto found = m_sources.find({kind, parameter});
    if (found == m_sources.end()) return missing(begin);
    const std::vector<Source>& sources = found->second;
    const std::int64_t end = begin + static_cast<std::int64_t>(out.size());
    auto source = std::upper_bound(sources.begin(), sources.end(), begin,
                                   [](std::int64_t at, const Source& s) { return at < s.begin; });
    if (source != sources.begin()) --source;
    for (std::int64_t at = begin; at < end; ++source) {
        if (source == sources.end() || source->begin > at) return missing(at);
        const std::int64_t last = std::min(end, source->begin + source->count);
        if (last <= at) {
            if (source + 1 == sources.end()) return missing(at);
            continue;
        }
        if (auto checked = check(*source); !checked) return checked;
        const std::byte* data = m_files[source->file]->data(*source->tensor).data();
        std::memcpy(out.data() + (at - begin), data + (at - source->begin) * 4,
                    static_cast<std::size_t>(last - at) * 4);
        at = last;
    }
    return {};
}

run::RunConfig settingsToGoOn(const Manifest& manifest) {
    run::RunConfig config = manifest.config;
    config.output.clear();
    config.weights.clear();
    return config;
}

std::optional<std::string> mismatch(const Manifest& manifest, const run::ModelConfig& model) {
    const run::ModelConfig& theirs = manifest.config.model;
    const auto differs = [](const char* what, auto there, auto here) {
        return fmt::format("the checkpoint is of another model: {} {} there, {} here", what, there,
                           here);
    };
    if (theirs.vocabulary != model.vocabulary)
        return differs("vocabulary", theirs.vocabulary, model.vocabulary);
    if (theirs.context != model.context && theirs.position == run::Position::kLearned)
        return differs("context", theirs.context, model.context);
    if (theirs.layers != model.layers) return differs("layers", theirs.layers, model.layers);
    if (theirs.heads != model.heads) return differs("heads", theirs.heads, model.heads);
    if (theirs.hidden != model.hidden) return differs("hidden", theirs.hidden, model.hidden);
    if (theirs.innerWidth() != model.innerWidth())
        return differs("feed-forward width", theirs.innerWidth(), model.innerWidth());
    if (theirs.norm != model.norm) return differs("norm", toWord(theirs.norm), toWord(model.norm));
    if (theirs.position != model.position)
        return differs("position", toWord(theirs.position), toWord(model.position));
    if (theirs.ffn != model.ffn) return differs("ffn", toWord(theirs.ffn), toWord(model.ffn));
    if (theirs.tieHead != model.tieHead) return differs("tied head", theirs.tieHead, model.tieHead);
    return std::nullopt;
}

}  // namespace shardscope::checkpoint
