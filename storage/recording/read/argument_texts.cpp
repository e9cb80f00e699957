#include "storage/recording/read/argument_texts.h"

#include <algorithm>
#include <tuple>

namespace shardscope::storage {
namespace {

/// Lanes that are read side by side; a chunk takes up to some 20 MB.
constexpr std::size_t kMostOpen = 6;

}  // namespace

const ArgumentTexts::Entry* ArgumentTexts::entryOf(Connection& connection, RankId rank,
                                                   StringId id) {
    if (m_directory == nullptr) {
        auto directory = std::make_unique<std::vector<Entry>>();
        // A file of an older minor version has no such table, and no such ids.
        auto select = connection.prepare("SELECT id, rank, first_id, count FROM arguments");
        while (select) {
            const auto row = select->step();
            if (!row || !*row) break;
            const auto small = [&](int i) {
                return static_cast<std::uint32_t>(select->integer(i));
            };
            directory->push_back({select->integer(0), {small(1)}, small(2), small(3)});
        }
        std::sort(directory->begin(), directory->end(), [](const Entry& a, const Entry& b) {
            return std::tuple(a.rank, a.first) < std::tuple(b.rank, b.first);
        });
        m_directory = std::move(directory);
    }
    auto at = std::upper_bound(m_directory->begin(), m_directory->end(), std::pair(rank, id.value),
                               [](const auto& key, const Entry& entry) {
                                   return key < std::pair(entry.rank, entry.first);
                               });
    if (at == m_directory->begin()) return nullptr;
    --at;
    return at->rank == rank && id.value - at->first < at->count ? &*at : nullptr;
}

const ArgumentTexts::Chunk* ArgumentTexts::openChunk(RankId rank, StringId id) {
    for (auto open = m_open.begin(); open != m_open.end(); ++open) {
        const Entry& entry = open->entry;
        if (entry.rank != rank || id.value - entry.first >= entry.count) continue;
        m_open.splice(m_open.begin(), m_open, open);
        return &m_open.front();
    }
    return nullptr;
}

const ArgumentTexts::Chunk* ArgumentTexts::chunkOf(Connection& connection, RankId rank,
                                                   StringId id) {
    if (const Chunk* open = openChunk(rank, id)) return open;
    const Entry* entry = entryOf(connection, rank, id);
    if (entry == nullptr) return nullptr;
    auto select = connection.prepare("SELECT data FROM arguments WHERE id=?");
    if (!select) return nullptr;
    const auto row = select->bind(1, entry->id).step();
    if (!row || !*row) return nullptr;
    auto rows = columns::decodeArguments(select->blob(0));
    // What cannot be read is not tried for every event again.
    if (!rows || rows->rows.size() != entry->count) rows.emplace();
    Chunk chunk{*entry, std::move(*rows), {}};
    std::uint32_t start = 0;
    for (const std::uint32_t form : chunk.rows.rows) {
        chunk.starts.push_back(start);
        start += chunk.rows.forms[form].count;
    }
    m_open.push_front(std::move(chunk));
    if (m_open.size() > kMostOpen) m_open.pop_back();
    return &m_open.front();
}

/// Nothing when a text that it needs is not to be had.
std::optional<std::string_view> ArgumentTexts::textOf(const Chunk& chunk, RankId rank, StringId id,
                                                      const StringOf& stringOf) {
    if (chunk.starts.empty()) return std::nullopt;
    const std::size_t row = id.value - chunk.entry.first;
    const columns::ArgumentForm& form = chunk.rows.forms[chunk.rows.rows[row]];
    if (form.text == kEmptyString) return std::string_view{};
    const auto text = stringOf(rank, form.text);
    m_text.clear();
    const auto values = std::span(chunk.rows.values).subspan(chunk.starts[row], form.count);
    if (!text || !appendArguments(m_text, *text, values,
                                  [&](StringId each) { return stringOf(rank, each); }))
        return std::nullopt;
    return m_text;
}

std::string_view ArgumentTexts::text(Connection& connection, RankId rank, StringId id,
                                     const StringOf& stringOf) {
    const Chunk* chunk = chunkOf(connection, rank, id);
    if (chunk == nullptr) return {};
    return textOf(*chunk, rank, id, stringOf).value_or(std::string_view{});
}

std::optional<std::string_view> ArgumentTexts::known(RankId rank, StringId id,
                                                     const StringOf& stringOf) {
    const Chunk* chunk = openChunk(rank, id);
    return chunk == nullptr ? std::nullopt : textOf(*chunk, rank, id, stringOf);
}

}  // namespace shardscope::storage
