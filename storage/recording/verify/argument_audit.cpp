#include "storage/recording/verify/argument_audit.h"

#include "storage/columns/arguments.h"

#include <algorithm>
#include <limits>

namespace shardscope::storage {
namespace {

constexpr std::int64_t kMostId = std::numeric_limits<std::uint32_t>::max();

}  // namespace

std::vector<IdRun> runsOf(std::vector<std::uint32_t>& ids) {
    std::sort(ids.begin(), ids.end());
    std::vector<IdRun> runs;
    for (const std::uint32_t id : ids) {
        if (!runs.empty() && id < runs.back().end()) continue;
        if (!runs.empty() && id == runs.back().end())
            ++runs.back().count;
        else
            runs.push_back({id, 1});
    }
    return runs;
}

Result<ArgumentAudit> ArgumentAudit::create(Connection& connection) {
    auto select = connection.prepare("SELECT text FROM strings WHERE rank=? AND id=?");
    if (!select) return failure(select);
    return ArgumentAudit(std::move(*select));
}

const std::optional<std::string>& ArgumentAudit::stringOf(RankId rank, StringId id) {
    const auto [at, added] =
        m_strings.try_emplace(std::uint64_t{rank.value} << 32 | id.value, std::nullopt);
    if (!added) return at->second;
    const auto row =
        m_select.bind(1, std::int64_t{rank.value}).bind(2, std::int64_t{id.value}).step();
    if (row && *row) at->second = std::string(m_select.text(0));
    m_select.reset();
    return at->second;
}

std::optional<ArgumentAudit::Form> ArgumentAudit::formOf(RankId rank, StringId id) {
    if (id == kEmptyString) return Form{};
    const std::optional<std::string>& text = stringOf(rank, id);
    if (!text) return std::nullopt;
    return Form{countValues(*text), textValues(*text)};
}

bool ArgumentAudit::isText(RankId rank, StringId id, bool list) {
    const std::optional<std::string>& text = stringOf(rank, id);
    if (!text || !list) return text.has_value();
    const auto key = std::uint64_t{rank.value} << 32 | id.value;
    if (m_soundLists.contains(key)) return true;
    const auto ids = idsIn(*text);
    const bool sound = ids && std::all_of(ids->begin(), ids->end(), [&](StringId each) {
                           return stringOf(rank, each).has_value();
                       });
    if (sound) m_soundLists.insert(key);
    return sound;
}

std::optional<std::string> ArgumentAudit::check(RankId rank, std::int64_t first, std::int64_t count,
                                                std::span<const std::byte> data) {
    if (first < columns::kFirstArguments || count < 1 || first + count - 1 > kMostId)
        return "has ids that arguments do not have";
    const IdRun run{static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(count)};
    const auto left = missing(rank, run);
    if (left.size() != 1 || left.front().count != run.count) return "has ids that another row has";
    const auto rows = columns::decodeArguments(data);
    if (!rows) return "does not decode: " + rows.error().message;
    if (rows->rows.size() != run.count) return "does not hold as many as its row says";
    std::vector<Form> forms;
    for (const columns::ArgumentForm& form : rows->forms) {
        auto known = formOf(rank, form.text);
        if (!known) return "has a form that is not in strings";
        if (known->values != form.count) return "has other values than its form";
        forms.push_back(std::move(*known));
    }
    std::size_t at = 0;
    for (const std::uint32_t form : rows->rows) {
        for (const TextValue& text : forms[form].texts) {
            const std::int64_t id = rows->values[at + text.value];
            if (id < 0 || id > kMostId ||
                !isText(rank, {static_cast<std::uint32_t>(id)}, text.list))
                return "names a text that is not in strings";
        }
        at += forms[form].values;
    }
    m_held[{rank, run.first}] = run.count;
    return std::nullopt;
}

bool ArgumentAudit::holds(RankId rank, StringId id) const {
    return missing(rank, {id.value, 1}).empty();
}

std::vector<IdRun> ArgumentAudit::missing(RankId rank, IdRun run) const {
    std::vector<IdRun> left;
    std::uint64_t at = run.first;
    auto held = m_held.upper_bound({rank, run.first});
    if (held != m_held.begin()) --held;
    for (; held != m_held.end() && held->first <= std::pair(rank, run.first + (run.count - 1));
         ++held) {
        if (held->first.first != rank) continue;
        const std::uint64_t end = std::uint64_t{held->first.second} + held->second;
        if (end <= at) continue;
        if (held->first.second > at)
            left.push_back({static_cast<std::uint32_t>(at),
                            static_cast<std::uint32_t>(held->first.second - at)});
        at = end;
    }
    if (at < run.end())
        left.push_back(
            {static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(run.end() - at)});
    return left;
}

}  // namespace shardscope::storage
