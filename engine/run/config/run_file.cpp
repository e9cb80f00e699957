// TOML run files: the keys of toJson, with line and column in every complaint. Hosts may stand in a
// table, another way to write what parseHosts() takes:
//
//   [hosts]
//   node-a = { slots = 4, interface = "eth1", devices = [0, 1] }
//   "me@node-b" = { slots = 2, folder = "/scratch/me", environment = { NCCL_DEBUG = "INFO" } }
#include "engine/run/config/run_file.h"

#include "engine/run/config/host_list.h"
#include "engine/run/config/near_miss.h"
#include "engine/run/config/run_option.h"
#include "storage/model/input_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

namespace shardscope::run {
namespace {

/// What is wrong in a table, and where.
struct HostTableComplaint {
    toml::source_region where;
    std::string what;
};

using Done = tl::expected<void, HostTableComplaint>;

tl::unexpected<HostTableComplaint> complain(const toml::source_region& where, std::string what) {
    return tl::unexpected(HostTableComplaint{where, std::move(what)});
}

/// As they are written; the table itself is ordered by name.
template <class Use>
Done inOrder(const toml::table& table, Use use) {
    std::vector<std::pair<const toml::key*, const toml::node*>> entries;
    for (const auto& [key, node] : table) entries.emplace_back(&key, &node);
    const auto at = [](const auto& entry) {
        const toml::source_position begin = entry.first->source().begin;
        return std::tuple(begin.line, begin.column);
    };
    std::sort(entries.begin(), entries.end(),
              [&](const auto& a, const auto& b) { return at(a) < at(b); });
    for (const auto& [key, node] : entries)
        if (auto done = use(*key, *node); !done) return done;
    return {};
}

/// A text as TOML quotes it.
std::string tomlText(std::string_view text) {
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            quoted += '\\';
            quoted += c;
        } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
            quoted += fmt::format("\\u{:04X}", static_cast<unsigned>(c));
        } else {
            quoted += c;
        }
    }
    return quoted + '"';
}

std::optional<std::int32_t> wholeNumber(const toml::node& node) {
    const auto value = node.value_exact<std::int64_t>();
    if (!value || *value < std::numeric_limits<std::int32_t>::min() ||
        *value > std::numeric_limits<std::int32_t>::max())
        return std::nullopt;
    return static_cast<std::int32_t>(*value);
}

/// In a list of hosts quotes cannot be distinguished from those around a text.
Done setText(std::string& text, std::string_view key, const toml::node& node) {
    const auto value = node.value_exact<std::string>();
    if (!value) return complain(node.source(), fmt::format("{} must be a text", key));
    if (value->find('"') != value->npos)
        return complain(node.source(), fmt::format("{} may not have a quote in it", key));
    text = *value;
    return {};
}

Done setDevices(HostConfig& host, const toml::node& node) {
    const toml::array* numbers = node.as_array();
    if (numbers == nullptr)
        return complain(node.source(), "devices must be a list of numbers as [0, 1]");
    for (const toml::node& each : *numbers) {
        const auto device = wholeNumber(each);
        if (!device || *device < 0)
            return complain(each.source(), "devices must be a list of numbers as [0, 1]");
        host.devices.push_back(*device);
    }
    return {};
}

Done setEnvironment(HostConfig& host, const toml::node& node) {
    const toml::table* variables = node.as_table();
    if (variables == nullptr)
        return complain(node.source(), "environment must be a table as { NCCL_DEBUG = \"INFO\" }");
    return inOrder(*variables, [&](const toml::key& key, const toml::node& value) {
        const std::string name(key.str());
        if (!HostConfig::mayPass(name))
            return Done(complain(key.source(),
                                 fmt::format("{} is not passed on; what is: NCCL_*, GLOO_*, "
                                             "SHARDSCOPE_*, CUDA_VISIBLE_DEVICES, OMP_NUM_THREADS",
                                             name)));
        return setText(host.environment[name], name, value);
    });
}

Done set(HostConfig& host, const toml::key& key, const toml::node& node) {
    const std::string_view name = key.str();
    if (name == "devices") return setDevices(host, node);
    if (name == "environment") return setEnvironment(host, node);
    if (name == "interface") return setText(host.interface, name, node);
    if (name == "folder") return setText(host.folder, name, node);
    if (name == "data") return setText(host.data, name, node);
    if (name != "slots")
        return complain(key.source(),
                        fmt::format("'{}' is unknown{}", name,
                                    suggestion(name, {"slots", "devices", "interface", "folder",
                                                      "data", "environment"})));
    const auto slots = wholeNumber(node);
    if (!slots || *slots == 0) return complain(node.source(), "slots must be a number, 1 or more");
    host.slots = *slots;
    return {};
}

/// That it says the same as a line of a host file, whose rules hold here too.
Done checkAsText(const HostConfig& host, const toml::source_region& where) {
    const auto same = parseHosts(toText({host}));
    if (!same) return complain(where, same.error().message);
    if (*same == std::vector{host}) return {};
    return complain(where, fmt::format("'{}' is no name of a host", host.name));
}

tl::expected<HostConfig, HostTableComplaint> hostOf(const toml::key& key, const toml::node& node) {
    HostConfig host;
    host.name = key.str();
    if (host.name.empty() || host.name.find_first_of(" \t\r\n;:=#\"") != host.name.npos)
        return complain(key.source(), fmt::format("'{}' is no name of a host", host.name));
    if (auto good = checkAsText(host, key.source()); !good) return tl::unexpected(good.error());
    const toml::table* settings = node.as_table();
    if (settings == nullptr)
        return complain(node.source(),
                        fmt::format("host {} must be a table as {{ slots = 4 }}", host.name));
    auto done = inOrder(*settings, [&](const toml::key& name, const toml::node& value) {
        if (auto set_ = set(host, name, value); !set_) return set_;
        return checkAsText(host, value.source());
    });
    if (!done) return tl::unexpected(done.error());
    return host;
}

std::string keyOf(const std::string& name) {
    const bool bare = std::all_of(name.begin(), name.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '-' || c == '_';
    });
    return bare ? name : tomlText(name);
}

std::string tableOf(const HostConfig& host) {
    std::vector<std::string> settings;
    if (host.slots > 0) settings.push_back(fmt::format("slots = {}", host.slots));
    if (!host.devices.empty())
        settings.push_back(fmt::format("devices = [{}]", fmt::join(host.devices, ", ")));
    for (const auto& [name, value] :
         {std::pair("interface", &host.interface), {"folder", &host.folder}, {"data", &host.data}})
        if (!value->empty()) settings.push_back(fmt::format("{} = {}", name, tomlText(*value)));
    std::vector<std::string> variables;
    for (const auto& [name, value] : host.environment)
        variables.push_back(fmt::format("{} = {}", keyOf(name), tomlText(value)));
    if (!variables.empty())
        settings.push_back(fmt::format("environment = {{ {} }}", fmt::join(variables, ", ")));
    if (settings.empty()) return fmt::format("{} = {{}}\n", keyOf(host.name));
    return fmt::format("{} = {{ {} }}\n", keyOf(host.name), fmt::join(settings, ", "));
}

bool isMore(const HostConfig& host) {
    HostConfig plain;
    plain.name = host.name;
    plain.slots = host.slots;
    return host != plain;
}

/// RunConfig::hosts, hosts in the order in which they are written.
tl::expected<std::string, HostTableComplaint> readHostTable(const toml::table& table) {
    std::vector<HostConfig> hosts;
    auto done = inOrder(table, [&](const toml::key& key, const toml::node& node) -> Done {
        auto host = hostOf(key, node);
        if (!host) return tl::unexpected(host.error());
        hosts.push_back(std::move(*host));
        return {};
    });
    if (!done) return tl::unexpected(done.error());
    if (hosts.empty())
        return complain(table.source(), "[hosts] names no host; leave it out to use this one");
    return toText(hosts);
}

/// The table, with its heading, of hosts of which there is more to say than names and slots; empty:
/// there is not, and a text says it all.
std::string hostTableOf(std::string_view text) {
    if (isHostFile(text)) return {};
    const auto hosts = parseHosts(text);
    if (!hosts || std::none_of(hosts->begin(), hosts->end(), isMore)) return {};
    std::string table = "\n[hosts]\n";
    for (const HostConfig& host : *hosts) table += tableOf(host);
    return table;
}

constexpr std::string_view kHosts = "hosts";
/// What the run is called: no settings, so that a recording's configuration is the same without.
constexpr std::string_view kName = "name", kTags = "tags";
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
            if (name == kName || name == kTags) {
                if (auto done = setLabel(name, node); !done) return failure(done);
                continue;
            }
            if (auto done = set(name, key.source(), node); !done) return failure(done);
            if (auto done = checkCommand(name, key.source(), node); !done) return failure(done);
        }
        return m_config;
    }

    [[nodiscard]] const RunLabel& label() const { return m_label; }

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

    /// name = "baseline", tags = ["wide", "lr=3e-4"]
    Result<void> setLabel(const std::string& key, const toml::node& node) {
        const auto take = [&](const toml::node& text, std::string& to) -> Result<void> {
            const auto value = text.value_exact<std::string>();
            if (!value) return complain(text.source(), key + " must be text in quotes");
            if (const std::string fault = labelFault(*value); !fault.empty())
                return complain(text.source(), fmt::format("{} {}", key, fault));
            to = *value;
            return {};
        };
        if (key == kName) return take(node, m_label.name);
        const toml::array* tags = node.as_array();
        if (tags == nullptr)
            return complain(node.source(), "tags must be a list as [\"wide\", \"lr=3e-4\"]");
        for (const toml::node& tag : *tags)
            if (auto done = take(tag, m_label.tags.emplace_back()); !done) return done;
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
    Result<void> checkCommand(const std::string& key, const toml::source_region& where,
                              const toml::node& node) {
        for (const RunCommand& command : commandsOf(m_config)) {
            if (command.key != key || m_mayRun(key)) continue;
            const toml::node* host = node.is_table() ? node.as_table()->get(command.host) : nullptr;
            return complain(host != nullptr ? host->source() : where,
                            refusedCommand(command, "a run file"));
        }
        return {};
    }

    std::string m_path;
    RunConfig m_config;
    RunLabel m_label;
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
                              const MayRun& mayRun, RunLabel* label) {
    const auto text = readInput(path);
    if (!text)
        return failure(text.error().code,
                       fmt::format("the run file {}; check its name", text.error().message));
    RunFileReader reader(path, defaults, mayRun);
    try {
        const toml::table root = toml::parse(*text, path);
        auto config = reader.read(root);
        if (label != nullptr) *label = reader.label();
        return config;
    } catch (const toml::parse_error& error) {
        return reader.complain(error.source(), error.description());
    }
}

Result<RunConfig> readRunFile(const std::string& path, const RunConfig& defaults) {
    return readRunFile(path, defaults, [](std::string_view) { return false; });
}

std::string toToml(const RunConfig& config, const RunLabel& label) {
    std::string top = std::string(kSavedBy) + '\n';
    if (!label.name.empty()) top += fmt::format("{} = {}\n", kName, tomlValue(label.name));
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

std::string toToml(const RunConfig& config) {
    return toToml(config, {});
}

bool isSavedRunFile(const std::string& path) {
    // Of what can be read again only.
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(path, ignored)) return false;
    std::ifstream file(path, std::ios::binary);
    std::string line;
    return std::getline(file, line) && line == kSavedBy;
}

}  // namespace shardscope::run
