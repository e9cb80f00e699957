#include "engine/run/config/host_list.h"

#include "engine/run/config/near_miss.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <set>

namespace shardscope::run {
namespace {

constexpr std::int32_t kMostSlots = 4096;
constexpr std::string_view kBlank = " \t\r";
/// Some editors begin UTF-8 files with it; it is no part of the first host's name.
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

tl::unexpected<Error> complain(std::string text) {
    return failure(ErrorCode::kUsage, std::move(text));
}

std::optional<std::int32_t> number(std::string_view text) {
    std::int32_t value = 0;
    const char* end = text.data() + text.size();
    const auto [last, error] = std::from_chars(text.data(), end, value);
    if (text.empty() || error != std::errc() || last != end || value < 0) return std::nullopt;
    return value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(separator, begin), text.size());
        parts.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return parts;
}

/// "0,2"; no number twice.
Result<std::vector<std::int32_t>> numbers(std::string_view text) {
    std::vector<std::int32_t> found;
    for (const std::string_view part : split(text, ',')) {
        const auto value = number(part);
        if (!value) return complain(fmt::format("'{}' is not a list of numbers as 0,2", text));
        if (std::find(found.begin(), found.end(), *value) != found.end())
            return complain(fmt::format("{} is named twice in '{}'", *value, text));
        found.push_back(*value);
    }
    return found;
}

/// The words of one host.
struct Line {
    std::size_t number = 1;  ///< of the line in its file
    std::vector<std::string> words;
};

/// Lines, or what stands between `;`, each as its words; quotes keep blanks together.
class Words {
public:
    explicit Words(std::string_view text) : m_text(text) {}

    Result<std::vector<Line>> take() {
        for (m_at = 0; m_at < m_text.size(); ++m_at) {
            const char c = m_text[m_at];
            if (c == '"') {
                if (!takeQuoted()) return complain("a quote in the list of hosts has no end");
            } else if (c == '\n' || c == ';') {
                endLine();
                if (c == '\n') ++m_number;
            } else if (c == '#' && !m_inWord) {
                m_at = std::min(m_text.find('\n', m_at), m_text.size()) - 1;
            } else if (kBlank.find(c) != kBlank.npos) {
                endWord();
            } else {
                m_word += c, m_inWord = true;
            }
        }
        endLine();
        return std::move(m_lines);
    }

private:
    bool takeQuoted() {
        const std::size_t end = m_text.find('"', m_at + 1);
        if (end == m_text.npos) return false;
        const std::string_view quoted = m_text.substr(m_at + 1, end - m_at - 1);
        m_word += quoted;
        m_number += static_cast<std::size_t>(std::count(quoted.begin(), quoted.end(), '\n'));
        m_inWord = true;
        m_at = end;
        return true;
    }
    void endWord() {
        if (m_inWord) m_line.push_back(std::move(m_word));
        m_word.clear();
        m_inWord = false;
    }
    void endLine() {
        endWord();
        if (!m_line.empty()) m_lines.push_back({m_number, std::move(m_line)});
        m_line.clear();
    }

    std::string_view m_text;
    std::size_t m_at = 0;
    std::size_t m_number = 1;
    bool m_inWord = false;
    std::string m_word;
    std::vector<std::string> m_line;
    std::vector<Line> m_lines;
};

Result<void> setSlots(HostConfig& host, std::string_view text) {
    const auto slots = number(text);
    if (!slots || *slots < 1 || *slots > kMostSlots)
        return complain(fmt::format("'{}' is not a number of slots, 1 to {}", text, kMostSlots));
    host.slots = *slots;
    return {};
}

bool isVariable(std::string_view name) {
    constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    return !name.empty() && name.find_first_not_of(kLetters) == name.npos;
}

Result<void> set(HostConfig& host, std::string_view key, const std::string& value) {
    if (isVariable(key) && !HostConfig::mayPass(key)) {
        return complain(
            fmt::format("{} is not passed on; what is: NCCL_*, GLOO_*, SHARDSCOPE_*, "
                        "CUDA_VISIBLE_DEVICES, OMP_NUM_THREADS",
                        key));
    }
    if (isVariable(key)) {
        host.environment[std::string(key)] = value;
    } else if (key == "slots") {
        return setSlots(host, value);
    } else if (key == "devices") {
        auto devices = numbers(value);
        if (!devices) return failure(devices);
        host.devices = std::move(*devices);
    } else if (key == "interface") {
        host.interface = value;
    } else if (key == "folder") {
        host.folder = value;
    } else if (key == "data") {
        host.data = value;
    } else if (key != "max_slots") {
        return complain(
            fmt::format("'{}' is unknown{}", key,
                        suggestion(key, {"slots", "devices", "interface", "folder", "data"})));
    }
    return {};
}

/// ssh would take one that begins with a dash for an option.
Result<void> checkName(std::string_view name) {
    const std::string_view last = name.substr(name.rfind('@') + 1);
    const bool plain = name.find_first_of("/\\,") == name.npos;
    if (plain && !last.empty() && name[0] != '-' && name[0] != '@' && last[0] != '-') return {};
    return complain(fmt::format("'{}' is no name of a host", name));
}

/// "node-a:4", or the name alone.
Result<void> setName(HostConfig& host, std::string_view text) {
    const std::size_t colon = text.find(':');
    host.name = text.substr(0, colon);
    if (auto good = checkName(host.name); !good || colon == text.npos) return good;
    auto done = setSlots(host, text.substr(colon + 1));
    return done ? done : failure(done, "host " + host.name);
}

Result<HostConfig> hostOf(const std::vector<std::string>& words) {
    HostConfig host;
    if (auto good = setName(host, words[0]); !good) return failure(good);
    std::set<std::string> given;
    if (host.slots > 0) given.insert("slots");
    for (std::size_t i = 1; i < words.size(); ++i) {
        const std::size_t equals = words[i].find('=');
        if (equals == std::string::npos)
            return complain(
                fmt::format("host {}: '{}' is not of the form slots=4; begin each host "
                            "on a line of its own",
                            host.name, words[i]));
        const std::string key = words[i].substr(0, equals);
        if (!given.insert(key).second)
            return complain(
                fmt::format("host {}: {} is given twice; leave one of them out", host.name, key));
        auto done = set(host, key, words[i].substr(equals + 1));
        if (!done) return failure(done, "host " + host.name);
    }
    return host;
}

/// "node-a:4,node-b:2"
Result<std::vector<HostConfig>> shortList(std::string_view text) {
    std::vector<HostConfig> hosts;
    for (const std::string_view part : split(text, ',')) {
        HostConfig host;
        if (auto good = setName(host, part); !good) return failure(good);
        hosts.push_back(std::move(host));
    }
    return hosts;
}

Result<std::vector<HostConfig>> longList(std::string_view text) {
    auto lines = Words(text).take();
    if (!lines) return failure(lines);
    const bool isFile = text.find('\n') != text.npos;
    std::vector<HostConfig> hosts;
    for (const Line& line : *lines) {
        auto host = hostOf(line.words);
        if (!host && isFile) return failure(host, fmt::format("line {}", line.number));
        if (!host) return failure(host);
        hosts.push_back(std::move(*host));
    }
    return hosts;
}

Result<void> checkTwice(const std::vector<HostConfig>& hosts) {
    std::set<std::string> names;
    for (const HostConfig& host : hosts)
        if (!names.insert(host.name).second)
            return complain(fmt::format("the host {} is named twice", host.name));
    return {};
}

std::string quoted(const std::string& value) {
    const bool plain = value.find_first_of(" \t\r\n;#") == value.npos && !value.empty();
    return plain ? value : '"' + value + '"';
}

std::string textOf(const HostConfig& host) {
    std::string text = host.name;
    if (host.slots > 0) text += fmt::format(" slots={}", host.slots);
    if (!host.devices.empty()) text += fmt::format(" devices={}", fmt::join(host.devices, ","));
    if (!host.interface.empty()) text += " interface=" + quoted(host.interface);
    if (!host.folder.empty()) text += " folder=" + quoted(host.folder);
    if (!host.data.empty()) text += " data=" + quoted(host.data);
    for (const auto& [name, value] : host.environment) text += ' ' + name + '=' + quoted(value);
    return text;
}

/// A host and some of its slots; none: the whole host.
struct Chosen {
    std::size_t host = 0;
    std::vector<std::int32_t> slots;
};

std::optional<std::size_t> find(const std::vector<HostConfig>& hosts, std::string_view name) {
    const auto at = std::find_if(hosts.begin(), hosts.end(), [&](const HostConfig& host) {
        return host.name == name ||
               std::string_view(host.name).substr(host.name.find('@') + 1) == name;
    });
    if (at == hosts.end()) return std::nullopt;
    return static_cast<std::size_t>(at - hosts.begin());
}

/// What stands between hosts, an @, may stand in a host's name too.
Result<std::vector<Chosen>> chosenOf(const std::vector<HostConfig>& hosts, std::string_view text) {
    std::vector<Chosen> all;
    const auto parts = split(text, '@');
    for (std::size_t i = 0; i < parts.size(); ++i) {
        std::string part(parts[i]);
        auto host = find(hosts, part.substr(0, part.find(':')));
        if (!host && i + 1 < parts.size()) {
            part = fmt::format("{}@{}", part, parts[++i]);
            host = find(hosts, part.substr(0, part.find(':')));
        }
        if (!host) {
            std::vector<std::string> names;
            for (const HostConfig& each : hosts) names.push_back(each.name);
            return complain(fmt::format("'{}' is none of the hosts{}", part,
                                        suggestion(part.substr(0, part.find(':')), names)));
        }
        Chosen chosen{*host, {}};
        if (const std::size_t colon = part.find(':'); colon != part.npos) {
            auto slots = numbers(std::string_view(part).substr(colon + 1));
            if (!slots) return failure(slots);
            chosen.slots = std::move(*slots);
        }
        all.push_back(std::move(chosen));
    }
    return all;
}

/// Its slots by number: its devices, or 0 to slots - 1.
std::vector<std::int32_t> slotNumbers(const HostConfig& host) {
    if (!host.devices.empty()) return host.devices;
    std::vector<std::int32_t> all;
    for (std::int32_t i = 0; i < host.slots; ++i) all.push_back(i);
    return all;
}

Result<void> checkSlots(const HostConfig& host, const std::vector<std::int32_t>& wanted) {
    const auto known = slotNumbers(host);
    for (const std::int32_t slot : wanted)
        if (!known.empty() && std::find(known.begin(), known.end(), slot) == known.end())
            return complain(fmt::format("host {} has no slot {}", host.name, slot));
    return {};
}

HostConfig withSlots(HostConfig host, std::vector<std::int32_t> slots) {
    host.slots = static_cast<std::int32_t>(slots.size());
    host.devices = std::move(slots);
    return host;
}

/// 0: no limit.
std::int32_t capacityOf(const HostConfig& host) {
    return host.slots > 0 ? host.slots : static_cast<std::int32_t>(host.devices.size());
}

RankPlaces filled(const std::vector<HostConfig>& hosts, std::int32_t ranks) {
    RankPlaces places;
    for (const HostConfig& host : hosts) {
        if (ranks == 0) break;
        places.perHost.push_back(std::min(ranks, capacityOf(host)));
        ranks -= places.perHost.back();
    }
    return places;
}

/// One more to each host in turn that still takes one.
RankPlaces spread(const std::vector<HostConfig>& hosts, std::int32_t ranks) {
    RankPlaces places{std::vector<std::int32_t>(hosts.size())};
    while (ranks > 0) {
        for (std::size_t i = 0; i < hosts.size() && ranks > 0; ++i) {
            const std::int32_t most = capacityOf(hosts[i]);
            if (most > 0 && places.perHost[i] >= most) continue;
            ++places.perHost[i], --ranks;
        }
    }
    while (places.perHost.back() == 0) places.perHost.pop_back();
    return places;
}

}  // namespace

bool HostConfig::mayPass(std::string_view variable) {
    return variable.starts_with("NCCL_") || variable.starts_with("GLOO_") ||
           variable.starts_with("SHARDSCOPE_") || variable == "CUDA_VISIBLE_DEVICES" ||
           variable == "OMP_NUM_THREADS";
}

Result<std::vector<HostConfig>> parseHosts(std::string_view text) {
    if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    const bool names = text.find_first_of(" \t\n;=\"#") == text.npos && !text.empty();
    auto hosts = names ? shortList(text) : longList(text);
    if (!hosts) return hosts;
    if (auto good = checkTwice(*hosts); !good) return failure(good);
    return hosts;
}

std::string toText(const std::vector<HostConfig>& hosts) {
    std::string text;
    for (const HostConfig& host : hosts) text += (text.empty() ? "" : "; ") + textOf(host);
    return text;
}

Result<std::vector<HostConfig>> included(const std::vector<HostConfig>& hosts,
                                         std::string_view wanted) {
    const auto all = chosenOf(hosts, wanted);
    if (!all) return failure(all);
    std::vector<HostConfig> left;
    for (const Chosen& chosen : *all) {
        const HostConfig& host = hosts[chosen.host];
        if (auto known = checkSlots(host, chosen.slots); !known) return failure(known);
        left.push_back(chosen.slots.empty() ? host : withSlots(host, chosen.slots));
    }
    if (auto good = checkTwice(left); !good) return failure(good);
    return left;
}

Result<std::vector<HostConfig>> excluded(const std::vector<HostConfig>& hosts,
                                         std::string_view unwanted) {
    const auto all = chosenOf(hosts, unwanted);
    if (!all) return failure(all);
    std::vector<HostConfig> left;
    for (std::size_t i = 0; i < hosts.size(); ++i) {
        std::optional<HostConfig> kept = hosts[i];
        for (const Chosen& chosen : *all) {
            if (chosen.host != i || !kept) continue;
            if (auto known = checkSlots(hosts[i], chosen.slots); !known) return failure(known);
            if (!chosen.slots.empty() && slotNumbers(hosts[i]).empty())
                return complain(
                    fmt::format("host {} has no number of slots to leave some out of; "
                                "give it slots=N",
                                hosts[i].name));
            std::vector<std::int32_t> slots = slotNumbers(*kept);
            std::erase_if(slots, [&](std::int32_t slot) {
                return std::find(chosen.slots.begin(), chosen.slots.end(), slot) !=
                       chosen.slots.end();
            });
            if (chosen.slots.empty() || slots.empty())
                kept.reset();
            else
                kept = withSlots(*kept, std::move(slots));
        }
        if (kept) left.push_back(std::move(*kept));
    }
    if (left.empty()) return complain("no host is left");
    return left;
}

std::int32_t slotsOf(const std::vector<HostConfig>& hosts) {
    std::int32_t slots = 0;
    for (const HostConfig& host : hosts) slots += std::max(1, capacityOf(host));
    return slots;
}

Result<RankPlaces> placeRanks(const std::vector<HostConfig>& hosts, std::int32_t ranks) {
    if (hosts.empty()) return RankPlaces::onOneHost(ranks);
    const bool bounded = std::all_of(hosts.begin(), hosts.end(),
                                     [](const HostConfig& host) { return capacityOf(host) > 0; });
    if (bounded && ranks > slotsOf(hosts))
        return complain(fmt::format(
            "{} ranks do not fit on {} slots of {} host{}; use {{ranks}} "
            "{} or fewer, or give hosts more slots",
            ranks, slotsOf(hosts), hosts.size(), hosts.size() == 1 ? "" : "s", slotsOf(hosts)));
    return bounded ? filled(hosts, ranks) : spread(hosts, ranks);
}

}  // namespace shardscope::run
