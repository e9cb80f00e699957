#include "storage/columns/arguments.h"

#include "storage/columns/column.h"
#include "storage/columns/envelope.h"

#include <limits>

namespace shardscope::columns {
namespace {

constexpr std::uint32_t kMagic = 0x31414353u;  // "SCA1"
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kFrontBytes = 12;
constexpr const char* kWhat = "a chunk of arguments";

/// Where the values of each row begin, by form.
std::vector<std::vector<std::uint32_t>> startsByForm(const ArgumentRows& rows) {
    std::vector<std::vector<std::uint32_t>> starts(rows.forms.size());
    std::uint32_t at = 0;
    for (const std::uint32_t form : rows.rows) {
        starts[form].push_back(at);
        at += rows.forms[form].count;
    }
    return starts;
}

tl::unexpected<Error> malformed() {
    return failure(ErrorCode::kUnreadable,
                   std::string(kWhat) +
                       " holds malformed columns; the file is damaged there, its "
                       "arguments are left out");
}

bool readForms(ByteReader& in, std::size_t rows, ArgumentRows& into) {
    const auto count = in.number<std::uint32_t>();
    std::vector<std::int64_t> texts, counts, indexes;
    if (!in.good() || count > rows || !decodeColumn(in, count, texts) ||
        !decodeColumn(in, count, counts) || !decodeColumn(in, rows, indexes))
        return false;
    constexpr std::int64_t kMostId = std::numeric_limits<std::uint32_t>::max();
    for (std::size_t i = 0; i < count; ++i) {
        if (texts[i] < 0 || texts[i] > kMostId || counts[i] < 0 ||
            counts[i] > static_cast<std::int64_t>(kMaxArgumentValues))
            return false;
        into.forms.push_back(
            {{static_cast<std::uint32_t>(texts[i])}, static_cast<std::uint32_t>(counts[i])});
    }
    std::size_t values = 0;
    into.rows.reserve(rows);
    for (const std::int64_t index : indexes) {
        if (index < 0 || index >= std::int64_t{count}) return false;
        into.rows.push_back(static_cast<std::uint32_t>(index));
        values += into.forms[into.rows.back()].count;
        if (values > kMaxArgumentValues) return false;
    }
    into.values.resize(values);
    return true;
}

bool readValues(ByteReader& in, ArgumentRows& into) {
    const auto starts = startsByForm(into);
    std::vector<std::int64_t> column;
    for (std::size_t form = 0; form < into.forms.size(); ++form) {
        for (std::uint32_t value = 0; value < into.forms[form].count; ++value) {
            if (!decodeColumn(in, starts[form].size(), column)) return false;
            for (std::size_t i = 0; i < column.size(); ++i)
                into.values[starts[form][i] + value] = column[i];
        }
    }
    return in.left() == 0;
}

}  // namespace

ChunkBytes encodeArguments(const ArgumentRows& rows) {
    std::vector<std::byte> payload;
    payload.reserve(rows.values.size() + rows.rows.size() + 1024);
    putNumber(payload, static_cast<std::uint32_t>(rows.forms.size()));
    std::vector<std::int64_t> column;
    for (const ArgumentForm& form : rows.forms) column.push_back(form.text.value);
    encodeColumn(column, payload);
    column.clear();
    for (const ArgumentForm& form : rows.forms) column.push_back(form.count);
    encodeColumn(column, payload);
    column.assign(rows.rows.begin(), rows.rows.end());
    encodeColumn(column, payload);
    const auto starts = startsByForm(rows);
    for (std::size_t form = 0; form < rows.forms.size(); ++form) {
        column.resize(starts[form].size());
        for (std::uint32_t value = 0; value < rows.forms[form].count; ++value) {
            for (std::size_t i = 0; i < column.size(); ++i)
                column[i] = rows.values[starts[form][i] + value];
            encodeSmallestColumn(column, payload);
        }
    }
    ChunkBytes out;
    putNumber(out, kMagic);
    putNumber(out, static_cast<std::uint32_t>(rows.rows.size()));
    putNumber(out, kVersion);
    seal(out, payload);
    return out;
}

Result<ChunkBytes> packedSmallArguments(std::span<const std::byte> chunk) {
    return resealed(chunk, kFrontBytes, Effort::kSmall, kWhat);
}

Result<ArgumentRows> decodeArguments(std::span<const std::byte> chunk) {
    ByteReader front(chunk);
    const auto magic = front.number<std::uint32_t>();
    const auto rows = front.number<std::uint32_t>();
    const auto version = front.number<std::uint32_t>();
    if (magic != kMagic || rows == 0 || rows > kMaxChunkEvents || version != kVersion)
        return failure(ErrorCode::kUnreadable, "these bytes are not a chunk of arguments");
    auto payload = unseal(chunk, kFrontBytes, kMaxRawBytes, kWhat);
    if (!payload) return failure(payload);
    ByteReader in(*payload);
    ArgumentRows read;
    if (!readForms(in, rows, read) || !readValues(in, read)) return malformed();
    return read;
}

}  // namespace shardscope::columns
