// TOML run files: the keys of toJson, with line and column in every complaint.
#include "engine/run/config/run_file.h"

#include "engine/run/config/host_table.h"
#include "engine/run/config/run_option.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <cstring>
#include <fstream>
#include <sstream>

namespace shardscope::run {
namespace {

constexpr std::string_view kHosts = "hosts";
constexpr std::string_view kSavedBy = "# Run file of Shardscope: shardscope record FILE";

class RunFileReader {
public:
    RunFileReader(std::string path, RunConfig defaults, const MayRun& mayRun)
        : m_path(std::move(path)), m_config(std::move(defaults)), m_mayRun(mayRun) {}

    Result<RunConfig> read(const toml::table& root) {
        if (const toml::node* model = root.get("model")) {
            if (auto done = readModel(*model); !done) return failure(done);
        }
        for (const auto& [key, node] : root) {
            if (key.str() == "model") continue;
            const std::string name(key.str());
            if (auto done = set(name, key.source(), node); !done) return failure(done);
            if (auto done = checkCommand(name, key.source()); !done) return failure(done);
        }
        return m_config;
    }

    tl::unexpected<Error> complain(const toml::source_region& where, std::string_view what) const {
        return failure(ErrorCode::kUsage, fmt::format("{}:{}:{}: {}", m_path, where.begin.line,
                                                      where.begin.column, what));
    }

private:
    /// A preset's name, or a table that may start from one and change parts of it.
    Result<void> readModel(const toml::node& node) {
        if (const auto name = node.value<std::string>()) {
            if (auto done = setModelPreset(m_config, *name); !done) {
                return complain(node.source(), done.error().message);
            }
            return {};
        }
        const toml::table* table = node.as_table();
        if (table == nullptr) {
            return complain(node.source(), "model must be a preset's name or a [model] table");
        }
        const auto name = (*table)["name"].value<std::string>();
        if (name && findModelPreset(*name)) m_config.model = *findModelPreset(*name);
        for (const auto& [key, value] : *table) {
            auto done = set("model." + std::string(key.str()), key.source(), value);
            if (!done) return done;
        }
        return {};
    }

    Result<void> readHosts(const toml::table& table) {
        auto hosts = readHostTable(table);
        if (!hosts) return complain(hosts.error().where, hosts.error().what);
        m_config.hosts = std::move(*hosts);
        return {};
    }

    Result<void> set(const std::string& key, const toml::source_region& where,
                     const toml::node& node) {
        if (const toml::table* hosts = node.as_table(); hosts != nullptr && key == kHosts)
            return readHosts(*hosts);
        const RunOption* field = findRunOption(key);
        if (field == nullptr) {
            return complain(where, fmt::format("unknown key '{}'{}", key, suggestedKey(key)));
        }
        OptionValue value;
        if (node.is_boolean()) {
            value = node.as_boolean()->get();
        } else if (node.is_integer()) {
            value = node.as_integer()->get();
        } else if (node.is_floating_point()) {
            value = node.as_floating_point()->get();
        } else if (node.is_string()) {
            value = node.as_string()->get();
        } else {
            return complain(node.source(), key + " must be a single value");
        }
        if (auto done = field->set(m_config, value); !done) {
            return complain(node.source(), key + ": " + done.error().message);
        }
        return {};
    }

    /// Of what this key has just set.
    Result<void> checkCommand(const std::string& key, const toml::source_region& where) {
        for (const RunCommand& command : commandsOf(m_config))
            if (command.key == key && !m_mayRun(key))
                return complain(where, refusedCommand(command, "a run file"));
        return {};
    }

    std::string m_path;
    RunConfig m_config;
    const MayRun& m_mayRun;
};

std::string tomlValue(const OptionValue& value) {
    if (const auto* text = std::get_if<std::string>(&value)) return tomlText(*text);
    if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
    if (const auto* whole = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *whole);
    // TOML tells 1 from 1.0; fmt writes a double so that it reads back the same.
    std::string number = fmt::format("{}", std::get<double>(value));
    if (number.find_first_of(".en") == std::string::npos) number += ".0";
    return number;
}

}  // namespace

Result<RunConfig> readRunFile(const std::string& path, const RunConfig& defaults,
                              const MayRun& mayRun) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    if (!file || text.fail()) {
        return failure(ErrorCode::kUnreadable,
                       fmt::format("the run file {} cannot be read: {}; check its name", path,
                                   std::strerror(errno != 0 ? errno : EIO)));
    }
    RunFileReader reader(path, defaults, mayRun);
    try {
        const toml::table root = toml::parse(text.str(), path);
        return reader.read(root);
    } catch (const toml::parse_error& error) {
        return reader.complain(error.source(), error.description());
    }
}

Result<RunConfig> readRunFile(const std::string& path, const RunConfig& defaults) {
    return readRunFile(path, defaults, [](std::string_view) { return false; });
}

std::string toToml(const RunConfig& config) {
    std::string top = std::string(kSavedBy) + '\n';
    std::string model = "\n[model]\n";
    const std::string hosts = hostTableOf(config.hosts);
    for (const RunOption& field : runOptions()) {
        std::string_view key = field.key;
        if (key == kHosts && !hosts.empty()) continue;
        const std::string value = tomlValue(field.get(config));
        if (key.starts_with("model.")) {
            model += fmt::format("{} = {}\n", key.substr(6), value);
        } else {
            top += fmt::format("{} = {}\n", key, value);
        }
    }
    return top + model + hosts;
}

bool isSavedRunFile(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string line;
    return std::getline(file, line) && line == kSavedBy;
}

}  // namespace shardscope::run
