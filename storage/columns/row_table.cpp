#include "storage/columns/row_table.h"

#include "storage/columns/column.h"
#include "storage/columns/envelope.h"

#include <algorithm>

namespace shardscope::columns {
namespace {

constexpr std::uint32_t kMagic = 0x31545253u;  // "SRT1"
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kFrontBytes = 12;
constexpr const char* kWhat = "a blob of packed rows";
/// What the values of a column are counted from.
enum Origin : std::uint8_t { kZero, kColumnBefore };

std::int64_t minus(std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
std::int64_t plus(std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

/// Times of one row lie close to each other: as differences to the column before where that is
/// shorter.
void encodeValues(const TableColumn& column, const TableColumn* before,
                  std::vector<std::byte>& out) {
    std::vector<std::byte> plain, relative;
    encodeSmallestColumn(column.values, plain);
    if (before != nullptr) {
        std::vector<std::int64_t> values(column.values.size());
        std::transform(column.values.begin(), column.values.end(), before->values.begin(),
                       values.begin(), minus);
        encodeSmallestColumn(values, relative);
    }
    const bool closer = before != nullptr && relative.size() < plain.size();
    putNumber(out, static_cast<std::uint8_t>(closer ? kColumnBefore : kZero));
    const auto& shorter = closer ? relative : plain;
    out.insert(out.end(), shorter.begin(), shorter.end());
}

void encodeTexts(const std::vector<std::string>& texts, std::vector<std::byte>& out) {
    putNumber(out, static_cast<std::uint32_t>(texts.size()));
    std::vector<std::int64_t> lengths;
    lengths.reserve(texts.size());
    for (const std::string& text : texts) lengths.push_back(std::ssize(text));
    encodeColumn(lengths, out);
    for (const std::string& text : texts) {
        const auto bytes = std::as_bytes(std::span(text));
        out.insert(out.end(), bytes.begin(), bytes.end());
    }
}

std::string textOf(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool decodeTypes(ByteReader& in, std::size_t count, std::vector<CellType>& types) {
    std::vector<std::int64_t> codes;
    if (!decodeColumn(in, count, codes)) return false;
    types.reserve(count);
    for (const std::int64_t code : codes) {
        if (code < 0 || code > static_cast<std::int64_t>(kLastCellType)) return false;
        types.push_back(static_cast<CellType>(code));
    }
    return true;
}

bool decodeTexts(ByteReader& in, std::size_t rows, std::vector<std::string>& texts) {
    const auto count = in.number<std::uint32_t>();
    std::vector<std::int64_t> lengths;
    if (!in.good() || count > rows || !decodeColumn(in, count, lengths)) return false;
    texts.reserve(count);
    for (const std::int64_t length : lengths) {
        if (length < 0 || static_cast<std::uint64_t>(length) > in.left()) return false;
        texts.push_back(textOf(in.take(static_cast<std::size_t>(length))));
    }
    return in.good();
}

bool hasItsTexts(const TableColumn& column) {
    for (std::size_t row = 0; row < column.types.size(); ++row)
        if (column.types[row] >= CellType::kText &&
            (column.values[row] < 0 || column.values[row] >= std::ssize(column.texts)))
            return false;
    return true;
}

std::size_t textBytes(const TableColumn& column) {
    std::size_t bytes = 0;
    for (std::size_t row = 0; row < column.types.size(); ++row)
        if (column.types[row] >= CellType::kText)
            bytes += column.texts[static_cast<std::size_t>(column.values[row])].size();
    return bytes;
}

bool decodeTable(ByteReader& in, RowTable& table) {
    const auto columns = in.number<std::uint32_t>();
    if (!in.good() || columns == 0 || columns > kMostTableColumns) return false;
    for (std::uint32_t i = 0; i < columns; ++i) {
        TableColumn column;
        column.name = textOf(in.take(in.number<std::uint8_t>()));
        if (!in.good() || !decodeTypes(in, table.count, column.types)) return false;
        const auto origin = in.number<std::uint8_t>();
        if (origin > (i == 0 ? kZero : kColumnBefore) ||
            !decodeColumn(in, table.count, column.values))
            return false;
        if (origin == kColumnBefore)
            std::transform(column.values.begin(), column.values.end(),
                           table.columns.back().values.begin(), column.values.begin(), plus);
        if (!decodeTexts(in, table.count, column.texts) || !hasItsTexts(column)) return false;
        table.columns.push_back(std::move(column));
    }
    return in.left() == 0 && textBytes(table) <= kMostTextBytes;
}

}  // namespace

std::size_t textBytes(const RowTable& table) {
    std::size_t bytes = 0;
    for (const TableColumn& column : table.columns) bytes += textBytes(column);
    return bytes;
}

ChunkBytes encodeRows(const RowTable& table) {
    std::vector<std::byte> payload;
    putNumber(payload, static_cast<std::uint32_t>(table.columns.size()));
    const TableColumn* before = nullptr;
    for (const TableColumn& column : table.columns) {
        putNumber(payload, static_cast<std::uint8_t>(column.name.size()));
        const auto name = std::as_bytes(std::span(column.name));
        payload.insert(payload.end(), name.begin(), name.end());
        std::vector<std::int64_t> types;
        types.reserve(table.count);
        for (const CellType type : column.types) types.push_back(static_cast<std::int64_t>(type));
        encodeColumn(types, payload);
        encodeValues(column, before, payload);
        encodeTexts(column.texts, payload);
        before = &column;
    }
    ChunkBytes out;
    putNumber(out, kMagic);
    putNumber(out, static_cast<std::uint32_t>(table.count));
    putNumber(out, kVersion);
    seal(out, payload, Effort::kSmall);
    return out;
}

Result<RowTable> decodeRows(std::span<const std::byte> blob) {
    ByteReader front(blob);
    const auto magic = front.number<std::uint32_t>();
    const auto count = front.number<std::uint32_t>();
    const auto version = front.number<std::uint32_t>();
    if (magic != kMagic || count == 0 || count > kMostPackedRows || version != kVersion)
        return failure(ErrorCode::kUnreadable, "these bytes are not packed rows");
    auto payload = unseal(blob, kFrontBytes, kMaxRawBytes, kWhat);
    if (!payload) return failure(payload);
    ByteReader in(*payload);
    RowTable table{count, {}};
    if (!decodeTable(in, table))
        return failure(ErrorCode::kUnreadable,
                       std::string(kWhat) + " holds malformed columns; the file is damaged there");
    return table;
}

}  // namespace shardscope::columns
