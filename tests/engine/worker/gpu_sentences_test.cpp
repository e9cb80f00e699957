#include "engine/worker/failure_sentences.h"
#include "storage/model/rank_facts.h"

#include <gmock/gmock.h>

namespace shardscope::worker {
namespace {

using capture::DeviceCounts;
using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::int64_t kMebibyte = 1 << 20;

DeviceFacts device() {
    DeviceFacts facts;
    facts.name = "NVIDIA H100";
    facts.memory = {80 * 1024 * kMebibyte};
    return facts;
}

collectors::OutOfMemory outOfMemory() {
    collectors::OutOfMemory facts;
    facts.asked = {512 * kMebibyte};
    facts.allocated = {70'000 * kMebibyte};
    facts.reserved = {71'000 * kMebibyte};
    facts.pending = {300 * kMebibyte};
    facts.free = {100 * kMebibyte};
    facts.wanted.category = MemoryCategory::kActivation;
    const auto put = [&](MemoryCategory category, std::int64_t mebibytes) {
        facts.byCategory[static_cast<std::size_t>(category)] = {mebibytes * kMebibyte};
    };
    put(MemoryCategory::kActivation, 60'000);
    put(MemoryCategory::kOptimizerState, 6'000);
    put(MemoryCategory::kParameterShard, 3'000);
    put(MemoryCategory::kTemporary, 1'000);
    return facts;
}

TEST(OutOfMemoryText, SaysWhatWasAskedWhatHoldsTheMemoryAndWhatToChange) {
    const std::string text = outOfMemoryText(outOfMemory(), device());
    EXPECT_THAT(text, HasSubstr("NVIDIA H100 has no memory for another 512.0 MiB (activation"));
    EXPECT_THAT(text, HasSubstr("70000.0 MiB in tensors"));
    EXPECT_THAT(text, AllOf(HasSubstr("71000.0 MiB reserved"), HasSubstr("300.0 MiB waiting"),
                            HasSubstr("100.0 MiB free of 81920.0 MiB")));
    EXPECT_THAT(
        text, AllOf(HasSubstr("--batch"), HasSubstr("--precision bf16"), HasSubstr("more ranks")));
}

TEST(OutOfMemoryText, NamesTheThreeLargestHoldersInOrder) {
    const std::string text = outOfMemoryText(outOfMemory(), device());
    const auto first = text.find("60000.0 MiB");
    const auto second = text.find("6000.0 MiB", first + 11);
    const auto third = text.find("3000.0 MiB", second + 10);
    EXPECT_NE(first, std::string::npos);
    EXPECT_NE(second, std::string::npos);
    EXPECT_NE(third, std::string::npos);
    EXPECT_THAT(text, Not(HasSubstr(" 1000.0 MiB")));
}

TEST(OutOfMemoryText, LeavesOutWhatIsNotKnown) {
    collectors::OutOfMemory facts = outOfMemory();
    facts.free = {-1};
    facts.byCategory = {};
    const std::string text = outOfMemoryText(facts, device());
    EXPECT_THAT(text, Not(HasSubstr("free of")));
    EXPECT_THAT(text, HasSubstr("in tensors (nothing)"));
}

TEST(LossDiagnostics, AWholeRecordHasNone) {
    DeviceCounts counts;
    counts.records = counts.launches = counts.kernels = counts.attributed = 1200;
    EXPECT_THAT(lossDiagnostics(counts), IsEmpty());
    // Without launch calls there is nothing to compare kernels with.
    counts.launches = 0;
    EXPECT_THAT(lossDiagnostics(counts), IsEmpty());
    // A replayed graph: more kernels than launches.
    counts.launches = 10;
    EXPECT_THAT(lossDiagnostics(counts), IsEmpty());
}

TEST(LossDiagnostics, EachLossIsCountedAndHasARemedy) {
    DeviceCounts counts;
    counts.launches = 1200;
    counts.kernels = 1000;
    counts.dropped = 150;
    counts.untimed = 7;
    counts.reversed = 2;
    counts.unknown = 3;
    const auto list = lossDiagnostics(counts);
    ASSERT_EQ(list.size(), 4u);
    const auto is = [](const char* code, std::int64_t count, const char* words) {
        return AllOf(Field("code", &Diagnostic::code, code),
                     Field("count", &Diagnostic::count, count),
                     Field("message", &Diagnostic::message, HasSubstr(words)),
                     Field("severity", &Diagnostic::severity, Severity::kWarning),
                     Field("remedy", &Diagnostic::remedy, Not(IsEmpty())));
    };
    EXPECT_THAT(list, ElementsAre(is("device-records-dropped", 150, "dropped 150 records"),
                                  is("device-records-untimed", 7, "7 kernels came without times"),
                                  is("device-records-invalid", 5, "2 records ended before"),
                                  is("kernels-missing", 200, "1200 kernels were launched, 1000")));
}

/// Calls that were captured run nothing, and replays have no call a kernel.
TEST(LossDiagnostics, KernelsOfGraphsAreNeitherMissingNorMakeUpForOthers) {
    DeviceCounts counts;
    counts.launches = 500;
    counts.captured = 300;
    counts.kernels = 3200;
    counts.replayed = 3000;
    EXPECT_THAT(lossDiagnostics(counts), IsEmpty());
    counts.replayed = 3010;
    ASSERT_EQ(lossDiagnostics(counts).size(), 1u);
    EXPECT_EQ(lossDiagnostics(counts)[0].message, "200 kernels were launched, 190 were traced");
}

TEST(CountsText, TellsKernelsAndCollectives) {
    DeviceCounts counts;
    counts.kernels = 900;
    counts.launches = 901;
    counts.attributed = 890;
    collectors::NcclJoinCounts joined;
    joined.joined = 90;
    joined.unjoined = 4;
    joined.withoutEvents = 2;
    EXPECT_EQ(countsText(counts, joined),
              "900 kernels traced, 901 launched, 890 with their operator; 90 collectives joined "
              "with their kernel, 6 timed by device events");
}

TEST(SharedDevice, SaysThatNoTimeIsOneOfSpeed) {
    DeviceFacts facts = device();
    facts.sharedBy = 4;
    const Diagnostic warning = sharedDeviceWarning(facts);
    EXPECT_EQ(warning.code, "shared-device");
    EXPECT_EQ(warning.severity, Severity::kWarning);
    EXPECT_THAT(warning.message,
                HasSubstr("4 ranks use one NVIDIA H100; their kernels take turns"));
}

TEST(NoTelemetry, IsANoteWithItsReason) {
    const Diagnostic note = noTelemetryNote("NVML is not there");
    EXPECT_EQ(note.code, "no-device-telemetry");
    EXPECT_EQ(note.severity, Severity::kNote);
    EXPECT_EQ(note.count, 1);
    EXPECT_THAT(note.message, AllOf(HasSubstr("power"), HasSubstr(": NVML is not there")));
}

}  // namespace
}  // namespace shardscope::worker
