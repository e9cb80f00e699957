#include "engine/checkpoint/safetensors.h"

#include "engine/checkpoint/checkpoint_files.h"
#include "storage/model/input_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <optional>

namespace shardscope::checkpoint {
namespace {

using Json = nlohmann::ordered_json;

static_assert(std::endian::native == std::endian::little);
constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kMostHeaderBytes = 100'000'000;  // the format's own limit
constexpr const char* kMetadataKey = "__metadata__";

std::optional<std::uint64_t> elementBytes(std::string_view dtype) {
    constexpr std::pair<std::string_view, std::uint64_t> kTypes[] = {
        {"F64", 8}, {"F32", 4}, {"F16", 2},  {"BF16", 2},    {"I64", 8},
        {"I32", 4}, {"I16", 2}, {"I8", 1},   {"U64", 8},     {"U32", 4},
        {"U16", 2}, {"U8", 1},  {"BOOL", 1}, {"F8_E4M3", 1}, {"F8_E5M2", 1}};
    for (const auto& [name, bytes] : kTypes)
        if (name == dtype) return bytes;
    return std::nullopt;
}

Json headerOf(const std::vector<TensorToWrite>& tensors, const Metadata& metadata) {
    Json header = Json::object();
    if (!metadata.empty()) header[kMetadataKey] = metadata;
    std::uint64_t at = 0;
    for (const TensorToWrite& tensor : tensors) {
        const std::uint64_t end = at + tensor.values.size_bytes();
        header[tensor.name] = {
            {"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {at, end}}};
        at = end;
    }
    return header;
}

float fromHalf(std::uint16_t bits) {
    const std::uint32_t sign = (bits & 0x8000u) << 16;
    const std::uint32_t exponent = (bits >> 10) & 0x1Fu;
    const std::uint32_t mantissa = bits & 0x3FFu;
    if (exponent == 0x1F) return std::bit_cast<float>(sign | 0x7F800000u | mantissa << 13);
    if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
    const float small = static_cast<float>(mantissa) * 0x1p-24F;
    return sign != 0 ? -small : small;
}

}  // namespace

Result<void> writeSafetensors(const std::string& path, const std::vector<TensorToWrite>& tensors,
                              const Metadata& metadata) {
    std::string header = headerOf(tensors, metadata).dump();
    header.resize((header.size() + 7) / 8 * 8, ' ');
    auto file = DurableFile::create(path);
    if (!file) return failure(file);
    const std::uint64_t length = header.size();
    const auto write = [&](const auto& values) { return file->write(std::as_bytes(values)); };
    if (auto done = write(std::span(&length, 1)); !done) return done;
    if (auto done = write(std::span(header)); !done) return done;
    for (const TensorToWrite& tensor : tensors)
        if (auto done = write(tensor.values); !done) return done;
    return file->close();
}

tl::unexpected<Error> SafetensorsFile::damaged(const std::string& what) const {
    return failure(ErrorCode::kUnreadable,
                   fmt::format("{} is not a whole safetensors file: {}", m_path, what));
}

Result<std::shared_ptr<const SafetensorsFile>> SafetensorsFile::open(const std::string& path) {
    const int descriptor = openRegularFile(path);
    struct stat status {};
    if (descriptor < 0 || ::fstat(descriptor, &status) != 0) {
        const int error = errno;
        if (descriptor >= 0) ::close(descriptor);
        return failure(ErrorCode::kUnreadable,
                       fmt::format("{} cannot be read: {}", path, inputTrouble(error)));
    }
    const auto size = static_cast<std::uint64_t>(status.st_size);
    void* base =
        size == 0 ? MAP_FAILED : ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    const int error = errno;
    ::close(descriptor);
    if (base == MAP_FAILED)
        return failure(ErrorCode::kUnreadable,
                       fmt::format("{} cannot be read: {}", path,
                                   size == 0 ? "it is empty" : std::strerror(error)));
    std::shared_ptr<SafetensorsFile> file(
        new SafetensorsFile(path, static_cast<const std::byte*>(base), size));
    if (auto read = file->readHeader(); !read) return failure(read);
    return file;
}

SafetensorsFile::~SafetensorsFile() {
    ::munmap(const_cast<std::byte*>(m_base), m_size);
}

namespace {

/// Bytes that a shape and type ask for; nothing when that overflows or the shape is negative.
std::optional<std::uint64_t> bytesOf(const TensorInfo& tensor) {
    const auto each = elementBytes(tensor.dtype);
    if (!each) return std::nullopt;
    std::uint64_t bytes = *each;
    for (const std::int64_t extent : tensor.shape) {
        if (extent < 0) return std::nullopt;
        if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes))
            return std::nullopt;
    }
    return bytes;
}

std::optional<TensorInfo> tensorOf(const std::string& name, const Json& json) {
    if (!json.is_object() || !json.contains("dtype") || !json.contains("shape") ||
        !json.contains("data_offsets"))
        return std::nullopt;
    const Json& places = json["data_offsets"];
    const Json& shape = json["shape"];
    const auto numbers = [](const Json& list) {
        return list.is_array() && std::all_of(list.begin(), list.end(), [](const Json& each) {
                   return each.is_number_integer();
               });
    };
    if (!json["dtype"].is_string() || !numbers(shape) || !numbers(places) || places.size() != 2)
        return std::nullopt;
    TensorInfo tensor;
    tensor.name = name;
    tensor.dtype = json["dtype"].get<std::string>();
    for (const Json& extent : shape) tensor.shape.push_back(extent.get<std::int64_t>());
    tensor.begin = places[0].get<std::uint64_t>();
    tensor.end = places[1].get<std::uint64_t>();
    return tensor;
}

}  // namespace

Result<void> SafetensorsFile::readHeader() {
    if (m_size < kLengthBytes) return damaged("it ends inside the header's length");
    std::uint64_t length = 0;
    std::memcpy(&length, m_base, kLengthBytes);
    if (length > kMostHeaderBytes || length > m_size - kLengthBytes)
        return damaged(fmt::format("its header is said to take {} bytes", length));
    const char* text = reinterpret_cast<const char*>(m_base + kLengthBytes);
    const Json header = Json::parse(text, text + length, nullptr, false);
    if (!header.is_object()) return damaged("its header is no JSON object");
    m_data = m_base + kLengthBytes + length;
    const std::uint64_t dataBytes = m_size - kLengthBytes - length;
    for (const auto& [name, json] : header.items()) {
        if (name == kMetadataKey) {
            if (!json.is_object()) return damaged("its metadata is no JSON object");
            for (const auto& [key, value] : json.items())
                if (value.is_string()) m_metadata[key] = value.get<std::string>();
            continue;
        }
        const auto tensor = tensorOf(name, json);
        if (!tensor) return damaged(fmt::format("tensor '{}' is not described whole", name));
        const auto bytes = bytesOf(*tensor);
        if (!bytes || tensor->begin > tensor->end || tensor->end > dataBytes ||
            *bytes != tensor->bytes())
            return damaged(fmt::format("type, shape and place of tensor '{}' do not agree", name));
        m_byName[name] = m_tensors.size();
        m_tensors.push_back(*tensor);
    }
    std::vector<std::pair<std::uint64_t, std::uint64_t>> places;
    for (const TensorInfo& tensor : m_tensors) places.emplace_back(tensor.begin, tensor.end);
    std::sort(places.begin(), places.end());
    std::uint64_t reached = 0;
    for (const auto& [begin, end] : places) {
        if (begin != reached) return damaged("its tensors overlap or leave gaps");
        reached = end;
    }
    if (reached != dataBytes) return damaged("its data do not end where its tensors do");
    return {};
}

std::uint32_t SafetensorsFile::headerChecksum() const {
    return checksum({m_base, m_data});
}

const TensorInfo* SafetensorsFile::find(const std::string& name) const {
    const auto found = m_byName.find(name);
    return found == m_byName.end() ? nullptr : &m_tensors[found->second];
}

std::span<const std::byte> SafetensorsFile::data(const TensorInfo& tensor) const {
    return {m_data + tensor.begin, tensor.bytes()};
}

Result<std::vector<float>> SafetensorsFile::floats(const TensorInfo& tensor) const {
    const std::span<const std::byte> bytes = data(tensor);
    std::vector<float> values;
    if (tensor.dtype == "F32") {
        values.resize(bytes.size() / 4);
        std::memcpy(values.data(), bytes.data(), bytes.size());
        return values;
    }
    if (tensor.dtype != "F16" && tensor.dtype != "BF16")
        return failure(ErrorCode::kUnreadable,
                       fmt::format("tensor '{}' of {} is of type {}; weights are read as F32, F16 "
                                   "or BF16",
                                   tensor.name, m_path, tensor.dtype));
    values.reserve(bytes.size() / 2);
    for (std::size_t i = 0; i < bytes.size(); i += 2) {
        std::uint16_t bits = 0;
        std::memcpy(&bits, bytes.data() + i, 2);
        values.push_back(tensor.dtype == "F16"
                             ? fromHalf(bits)
                             : std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16));
    }
    return values;
}

std::uint32_t checksum(std::span<const std::byte> bytes) {
    return static_cast<std::uint32_t>(::crc32_z(
        ::crc32_z(0, nullptr, 0), reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace shardscope::checkpoint
