#include "engine/tokens/token_stream.h"

#include "engine/tokens/token_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>

namespace shardscope::tokens {
namespace {

namespace fs = std::filesystem;

template <class Token, class F>
void eachToken(const char* data, std::int64_t count, F f) {
    for (std::int64_t i = 0; i < count; ++i) {
        Token token;
        std::memcpy(&token, data + static_cast<std::size_t>(i) * sizeof token, sizeof token);
        f(i, static_cast<std::int64_t>(token));
    }
}

template <class F>
void eachToken(const char* data, std::int64_t count, std::size_t width, F f) {
    if (width == 1) return eachToken<std::uint8_t>(data, count, f);
    if (width == 2) return eachToken<std::uint16_t>(data, count, f);
    eachToken<std::uint32_t>(data, count, f);
}

bool isTokenFile(const fs::path& path) {
    std::error_code error;
    return path.extension() == ".bin" && fs::is_regular_file(path, error);
}

/// "val" with no letter on either side.
bool isHeldBack(const fs::path& path) {
    const std::string name = path.stem().string();
    const auto isLetter = [&](std::size_t at) {
        return at < name.size() && std::isalpha(static_cast<unsigned char>(name[at])) != 0;
    };
    for (std::size_t at = name.find("val"); at != name.npos; at = name.find("val", at + 1)) {
        const bool word =
            name.compare(at, 10, "validation") == 0 ? !isLetter(at + 10) : !isLetter(at + 3);
        if (word && (at == 0 || !isLetter(at - 1))) return true;
    }
    return false;
}

}  // namespace

void TokenStream::append(std::shared_ptr<const void> owner, const void* data, std::size_t count,
                         std::size_t width, std::string name) {
    const auto tokens = static_cast<std::int64_t>(count);
    m_parts.push_back({std::move(owner), static_cast<const char*>(data), tokens, width, m_size, 0,
                       std::move(name)});
    m_size += tokens;
}

void TokenStream::append(const TokenStream& other) {
    for (Part part : other.m_parts) {
        part.start = m_size;
        m_size += part.count;
        m_parts.push_back(std::move(part));
    }
}

template <class F>
void TokenStream::visit(std::int64_t first, std::int64_t count, F f) const {
    auto part = std::upper_bound(m_parts.begin(), m_parts.end(), first,
                                 [](std::int64_t at, const Part& p) { return at < p.start; });
    if (part != m_parts.begin()) --part;
    for (; count > 0 && part != m_parts.end(); ++part) {
        const std::int64_t inPart = first - part->start;
        const std::int64_t now = std::min(count, part->count - inPart);
        if (now <= 0) continue;
        f(*part, inPart, now);
        first += now;
        count -= now;
    }
}

TokenStream TokenStream::slice(std::int64_t first, std::int64_t count) const {
    TokenStream result;
    visit(first, count, [&](const Part& part, std::int64_t from, std::int64_t now) {
        Part piece = part;
        piece.data += static_cast<std::size_t>(from) * part.width;
        piece.offset += from;
        piece.count = now;
        piece.start = result.m_size;
        result.m_size += now;
        result.m_parts.push_back(std::move(piece));
    });
    return result;
}

void TokenStream::read(std::int64_t first, std::span<std::int64_t> into) const {
    std::int64_t* out = into.data();
    visit(first, static_cast<std::int64_t>(into.size()),
          [&](const Part& part, std::int64_t from, std::int64_t now) {
              eachToken(part.data + static_cast<std::size_t>(from) * part.width, now, part.width,
                        [&](std::int64_t i, std::int64_t token) { out[i] = token; });
              out += now;
          });
}

Result<void> TokenStream::checkRange(std::int64_t first, std::int64_t count,
                                     std::int64_t vocabulary) const {
    Result<void> result;
    visit(first, count, [&](const Part& part, std::int64_t from, std::int64_t now) {
        const char* data = part.data + static_cast<std::size_t>(from) * part.width;
        std::int64_t largest = 0;
        eachToken(data, now, part.width,
                  [&](std::int64_t, std::int64_t token) { largest = std::max(largest, token); });
        if (largest < vocabulary || !result) return;
        std::int64_t at = now, value = 0;
        eachToken(data, now, part.width, [&](std::int64_t i, std::int64_t token) {
            if (token < vocabulary || at < now) return;
            at = i;
            value = token;
        });
        result = failure(
            ErrorCode::kUnreadable,
            fmt::format("{}: token {} is {}, but the model has a vocabulary of {}; "
                        "give --vocabulary {} or more, or the tokens of its tokenizer",
                        part.name, part.offset + from + at, value, vocabulary, largest + 1));
    });
    return result;
}

bool isTokenData(const std::string& path) {
    std::error_code error;
    if (!fs::is_directory(path, error)) return fs::path(path).extension() == ".bin";
    auto entry = fs::directory_iterator(path, error);
    for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
        if (isTokenFile(entry->path())) return true;
    }
    return false;
}

Result<TokenFiles> findTokenFiles(const std::string& path) {
    std::error_code error;
    if (!fs::is_directory(path, error)) return TokenFiles{{path}, {}};
    TokenFiles files;
    auto entry = fs::directory_iterator(path, error);
    for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
        if (!isTokenFile(entry->path())) continue;
        auto& list = isHeldBack(entry->path()) ? files.validation : files.training;
        list.push_back(entry->path().string());
    }
    std::sort(files.training.begin(), files.training.end());
    std::sort(files.validation.begin(), files.validation.end());
    if (files.training.empty()) {
        return failure(ErrorCode::kUnreadable,
                       fmt::format("the data folder {} holds no token file (.bin) to train on{}",
                                   path, files.validation.empty() ? "" : ", only held-back ones"));
    }
    return files;
}

Result<TokenStream> openTokenFiles(const std::vector<std::string>& paths) {
    TokenStream stream;
    for (const std::string& path : paths) {
        auto file = openTokenFile(path);
        if (!file) return failure(file);
        const auto owner = std::make_shared<TokenFile>(std::move(*file));
        stream.append(owner, owner->data, owner->count, owner->width, path);
    }
    return stream;
}

}  // namespace shardscope::tokens
