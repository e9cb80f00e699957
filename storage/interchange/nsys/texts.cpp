#include "storage/interchange/nsys/texts.h"

#include "storage/interchange/json_text.h"

#include <simdjson.h>

namespace shardscope::interchange::nsys {
namespace {

constexpr std::size_t kLongestText = std::size_t{64} << 10;
/// What an entry costs beside its texts.
constexpr std::size_t kEntryBytes = 128;

}  // namespace

std::string soundText(std::string_view text, std::uint64_t& changed) {
    std::string sound(text.substr(0, kLongestText));
    if (sound.size() < text.size()) {
        // Not within a character.
        while (!sound.empty() && (static_cast<unsigned char>(text[sound.size()]) & 0xC0u) == 0x80u)
            sound.pop_back();
        sound += "...";
    }
    bool repaired = sound.size() != text.size();
    for (char& c : sound)
        if (static_cast<unsigned char>(c) < 0x20) c = ' ', repaired = true;
    if (!simdjson::validate_utf8(sound.data(), sound.size())) {
        repaired = true;
        for (char& c : sound)
            if (static_cast<unsigned char>(c) >= 0x80) c = '?';
    }
    changed += repaired ? 1 : 0;
    return sound;
}

const Texts::Text* Texts::keep(std::int64_t id, std::string plain) {
    Text text{std::move(plain), {}};
    text.json = jsonString(text.plain);
    m_bytes += text.plain.size() + text.json.size() + kEntryBytes;
    return &m_known.insert_or_assign(id, std::move(text)).first->second;
}

/// A table without a key would be read whole for every text: it is read once, if it is small.
Result<void> Texts::loadAll() {
    m_loaded = true;
    auto rows = m_file->scan("StringIds", {"id", "value"});
    if (!rows) return failure(rows);
    while (*rows) {
        auto row = (*rows)->next();
        if (!row) return failure(row);
        if (!*row) break;
        keep((*rows)->row().integer(0), soundText((*rows)->row().text(1), m_changed));
        if (m_bytes > kMostBytes)
            return failure(ErrorCode::kUnreadable,
                           m_file->path() +
                               ": StringIds has no primary key and is too large to be read "
                               "without, export it again");
    }
    return {};
}

Result<std::string> Texts::lookUp(std::int64_t id, bool& found) {
    if (!m_lookUp) {
        auto statement = m_file->textLookUp();
        if (!statement) return failure(statement);
        m_lookUp.emplace(std::move(*statement));
    }
    m_lookUp->bind(1, id);
    auto row = m_lookUp->step();
    if (!row)
        return failure(ErrorCode::kUnreadable, m_file->path() +
                                                   " is damaged or truncated in table StringIds (" +
                                                   row.error().message + "): export it again");
    found = *row;
    std::string text = found ? soundText(m_lookUp->text(0), m_changed) : std::string();
    m_lookUp->reset();
    return text;
}

Result<const Texts::Text*> Texts::find(std::int64_t id) {
    if (const auto at = m_known.find(id); at != m_known.end()) return &at->second;
    if (!m_file->has("StringIds", "value")) return nullptr;
    if (!m_file->hasTextKey()) {
        if (!m_loaded)
            if (auto loaded = loadAll(); !loaded) return failure(loaded);
        const auto at = m_known.find(id);
        return at == m_known.end() ? nullptr : &at->second;
    }
    bool found = false;
    auto text = lookUp(id, found);
    if (!text) return failure(text);
    if (!found) return nullptr;
    if (m_bytes > kMostBytes) {
        m_known.clear();
        m_bytes = 0;
    }
    return keep(id, std::move(*text));
}

}  // namespace shardscope::interchange::nsys
