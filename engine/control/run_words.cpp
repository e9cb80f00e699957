#include "engine/control/run_config.h"

namespace shardscope::control {
namespace {

/// The words of an enumeration, in the order in which they are suggested.
template <class E>
struct Word {
    E value;
    const char* text;
};
constexpr Word<Strategy> kStrategies[] = {{Strategy::kSingle, "single"},
                                          {Strategy::kDdpNaive, "ddp-naive"},
                                          {Strategy::kDdpFlat, "ddp-flat"},
                                          {Strategy::kDdpOverlap, "ddp-overlap"},
                                          {Strategy::kDdpBucket, "ddp-bucket"},
                                          {Strategy::kZero1, "zero1"},
                                          {Strategy::kZero2, "zero2"},
                                          {Strategy::kZero3, "zero3"},
                                          {Strategy::kHsdp, "hsdp"}};
constexpr Word<Device> kDevices[] = {{Device::kCpu, "cpu"}, {Device::kCuda, "cuda"}};
constexpr Word<Precision> kPrecisions[] = {{Precision::kFloat32, "fp32"},
                                           {Precision::kTf32, "tf32"},
                                           {Precision::kBFloat16, "bf16"},
                                           {Precision::kFloat16, "fp16"}};
constexpr Word<Norm> kNorms[] = {{Norm::kLayerNorm, "layernorm"}, {Norm::kRmsNorm, "rmsnorm"}};
constexpr Word<Position> kPositions[] = {{Position::kLearned, "learned"},
                                         {Position::kRope, "rope"}};
constexpr Word<FeedForward> kFeedForwards[] = {{FeedForward::kGelu, "gelu"},
                                               {FeedForward::kSwiglu, "swiglu"}};
constexpr Word<Schedule> kSchedules[] = {{Schedule::kCosine, "cosine"},
                                         {Schedule::kLinear, "linear"},
                                         {Schedule::kConstant, "constant"}};
constexpr Word<Compression> kCompressions[] = {
    {Compression::kNone, "none"}, {Compression::kBFloat16, "bf16"}, {Compression::kTopK, "topk"}};
constexpr Word<Transport> kTransports[] = {{Transport::kAuto, "auto"},
                                           {Transport::kSharedMemory, "shared-memory"},
                                           {Transport::kGloo, "gloo"}};
constexpr Word<Offload> kOffloads[] = {{Offload::kNone, "none"},
                                       {Offload::kOptimizer, "optimizer"},
                                       {Offload::kGradients, "gradients"}};
constexpr Word<GradientType> kGradientTypes[] = {{GradientType::kFloat32, "fp32"},
                                                 {GradientType::kBFloat16, "bf16"}};
constexpr Word<DeviceCapture> kDeviceCaptures[] = {
    {DeviceCapture::kAuto, "auto"},         {DeviceCapture::kNever, "never"},
    {DeviceCapture::kIdle, "idle"},         {DeviceCapture::kKernels, "kernels"},
    {DeviceCapture::kLaunches, "launches"}, {DeviceCapture::kFull, "full"}};

template <class E, std::size_t N>
const char* wordOf(const Word<E> (&words)[N], E value) {
    for (const Word<E>& word : words) {
        if (word.value == value) return word.text;
    }
    return "unknown";
}

template <class E, std::size_t N>
std::optional<E> parse(const Word<E> (&words)[N], std::string_view text) {
    for (const Word<E>& word : words) {
        if (text == word.text) return word.value;
    }
    return std::nullopt;
}

}  // namespace

const char* toWord(Norm norm) {
    return wordOf(kNorms, norm);
}
const char* toWord(Position position) {
    return wordOf(kPositions, position);
}
const char* toWord(FeedForward ffn) {
    return wordOf(kFeedForwards, ffn);
}
const char* toWord(Schedule schedule) {
    return wordOf(kSchedules, schedule);
}
const char* toWord(Compression compression) {
    return wordOf(kCompressions, compression);
}
const char* toWord(Transport transport) {
    return wordOf(kTransports, transport);
}
const char* toWord(Offload offload) {
    return wordOf(kOffloads, offload);
}
const char* toWord(Strategy strategy) {
    return wordOf(kStrategies, strategy);
}
bool isDdp(Strategy strategy) {
    return strategy == Strategy::kDdpNaive || strategy == Strategy::kDdpFlat ||
           strategy == Strategy::kDdpOverlap || strategy == Strategy::kDdpBucket;
}
const std::vector<Strategy>& strategies() {
    static const std::vector<Strategy> kAll = [] {
        std::vector<Strategy> all;
        for (const Word<Strategy>& word : kStrategies) all.push_back(word.value);
        return all;
    }();
    return kAll;
}
const char* toWord(Device device) {
    return wordOf(kDevices, device);
}
const char* toWord(Precision precision) {
    return wordOf(kPrecisions, precision);
}
const char* toWord(GradientType type) {
    return wordOf(kGradientTypes, type);
}
const char* toWord(DeviceCapture capture) {
    return wordOf(kDeviceCaptures, capture);
}

std::optional<Norm> parseNorm(std::string_view word) {
    return parse(kNorms, word);
}
std::optional<Position> parsePosition(std::string_view word) {
    return parse(kPositions, word);
}
std::optional<FeedForward> parseFeedForward(std::string_view word) {
    return parse(kFeedForwards, word);
}
std::optional<Schedule> parseSchedule(std::string_view word) {
    return parse(kSchedules, word);
}
std::optional<Compression> parseCompression(std::string_view word) {
    return parse(kCompressions, word);
}
std::optional<Transport> parseTransport(std::string_view word) {
    return parse(kTransports, word);
}
std::optional<Offload> parseOffload(std::string_view word) {
    return parse(kOffloads, word);
}
std::optional<Strategy> parseStrategy(std::string_view word) {
    return parse(kStrategies, word);
}
std::optional<Device> parseDevice(std::string_view word) {
    return parse(kDevices, word);
}
std::optional<Precision> parsePrecision(std::string_view word) {
    return parse(kPrecisions, word);
}
std::optional<GradientType> parseGradientType(std::string_view word) {
    return parse(kGradientTypes, word);
}
std::optional<DeviceCapture> parseDeviceCapture(std::string_view word) {
    return parse(kDeviceCaptures, word);
}

}  // namespace shardscope::control
