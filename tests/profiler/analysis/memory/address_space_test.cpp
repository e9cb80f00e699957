// What is reserved, allocated and free at a moment, against a recomputation byte by byte.
#include "profiler/analysis/memory/address_space.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace shardscope::analysis {
namespace {

constexpr std::uint64_t kBase = 1000;
constexpr std::size_t kRoom = 400;

Segment segment(std::uint64_t address, std::int64_t size, bool grows = false) {
    return {address, {size}, {1}, {1}, grows};
}

MemoryEvent block(std::uint64_t address, std::int64_t size) {
    MemoryEvent event;
    event.address = address;
    event.size = {size};
    return event;
}

std::vector<Segment> sorted(std::vector<Segment> segments) {
    std::sort(segments.begin(), segments.end(),
              [](const Segment& a, const Segment& b) { return a.address < b.address; });
    return segments;
}

/// An allocator that reserves and gives back whole segments at random, with all its states.
struct DrawnHistory {
    std::vector<SegmentChange> changes;
    std::vector<std::vector<Segment>> states;  ///< after time i
};

DrawnHistory drawHistory(std::mt19937_64& random) {
    DrawnHistory drawn;
    std::vector<Segment> now;
    for (std::int64_t time = 0; time < 30; ++time) {
        for (auto count = random() % 3; count > 0; --count) {
            if (!now.empty() && random() % 2 == 0) {
                const auto gone = now.begin() + static_cast<std::ptrdiff_t>(random() % now.size());
                drawn.changes.push_back({{time}, *gone, false});
                now.erase(gone);
                continue;
            }
            const Segment made =
                segment(kBase + random() % kRoom, 1 + static_cast<std::int64_t>(random() % 60));
            const bool fits = std::none_of(now.begin(), now.end(), [&](const Segment& each) {
                return made.address < each.end() && each.address < made.end();
            });
            if (!fits) continue;
            drawn.changes.push_back({{time}, made, true});
            now.push_back(made);
        }
        drawn.states.push_back(sorted(now));
    }
    return drawn;
}

TEST(AddressSpace, SegmentsAreThoseOfTheEndWithWhatCameLaterUndone) {
    std::mt19937_64 random(3);
    for (int round = 0; round < 400; ++round) {
        const DrawnHistory drawn = drawHistory(random);
        for (std::size_t time = 0; time < drawn.states.size(); ++time)
            ASSERT_EQ(
                segmentsAt(drawn.states.back(), drawn.changes, {static_cast<std::int64_t>(time)}),
                drawn.states[time])
                << "round " << round << ", time " << time;
        EXPECT_TRUE(segmentsAt(drawn.states.back(), drawn.changes, {-1}).empty());
    }
}

TEST(AddressSpace, SegmentsThatGrowAreOneWithTheirNeighbours) {
    std::mt19937_64 random(5);
    for (int round = 0; round < 300; ++round) {
        std::set<std::uint64_t> mapped;
        std::vector<std::set<std::uint64_t>> states;
        std::vector<SegmentChange> changes;
        for (std::int64_t time = 0; time < 20; ++time) {
            const std::uint64_t page = kBase + 10 * (random() % 12);
            const bool maps = mapped.count(page) == 0;
            for (std::uint64_t i = page; i < page + 10; ++i)
                maps ? void(mapped.insert(i)) : void(mapped.erase(i));
            changes.push_back({{time}, segment(page, 10, true), maps});
            states.push_back(mapped);
        }
        const auto atEnd = [&] {
            std::vector<Segment> parts;
            for (std::uint64_t i : mapped) parts.push_back(segment(i, 1, true));
            return segmentsAt(parts, {}, {0});
        }();
        for (std::size_t time = 0; time < states.size(); ++time) {
            std::set<std::uint64_t> got;
            std::uint64_t last = 0;
            for (const Segment& each :
                 segmentsAt(atEnd, changes, {static_cast<std::int64_t>(time)})) {
                ASSERT_GT(each.address, last) << "neighbours are joined";
                last = each.end();
                for (std::uint64_t i = each.address; i < each.end(); ++i) got.insert(i);
            }
            ASSERT_EQ(got, states[time]);
        }
    }
}

TEST(AddressSpace, EveryByteOfASegmentIsAllocatedFreeOrLost) {
    std::mt19937_64 random(7);
    for (int round = 0; round < 2000; ++round) {
        std::vector<Segment> segments = drawHistory(random).states.back();
        for (Segment& each : segments)
            each.smallestFree = {1 + static_cast<std::int64_t>(random() % 8)},
            each.rounding = {1 + static_cast<std::int64_t>(random() % 4)};
        std::vector<MemoryEvent> blocks;
        std::vector<char> covered(2 * kRoom, 0);
        for (std::uint64_t at = kBase; at < kBase + kRoom;) {
            const std::uint64_t size = 1 + random() % 12;
            if (random() % 2 == 0) blocks.push_back(block(at, static_cast<std::int64_t>(size)));
            at += size;
        }
        // Blocks lie in one segment, or in none.
        std::erase_if(blocks, [&](const MemoryEvent& each) {
            const std::uint64_t end = each.address + static_cast<std::uint64_t>(each.size.count);
            return std::any_of(segments.begin(), segments.end(), [&](const Segment& in) {
                return each.address < in.end() && in.address < end &&
                       (each.address < in.address || end > in.end());
            });
        });
        for (const MemoryEvent& each : blocks)
            for (std::int64_t i = 0; i < each.size.count; ++i)
                covered[each.address - kBase + static_cast<std::uint64_t>(i)] = 1;
        std::shuffle(blocks.begin(), blocks.end(), random);

        ReservedNow naive;
        std::vector<Bytes> gaps;
        for (const Segment& in : segments) {
            ++naive.segments;
            naive.reserved += in.size;
            std::int64_t gap = 0;
            bool any = false;
            for (std::uint64_t at = in.address; at <= in.end(); ++at) {
                const bool isFree = at < in.end() && covered[at - kBase] == 0;
                const bool rounds =
                    any && gap == 0 && at % static_cast<std::uint64_t>(in.rounding.count) != 0;
                if (isFree) {
                    ++(rounds ? naive.lost.count : gap);
                    continue;
                }
                if (gap > 0 && any && gap < in.smallestFree.count)
                    naive.lost.count += gap;
                else if (gap > 0)
                    gaps.push_back({gap});
                gap = 0;
                if (at == in.end()) break;
                any = true;
                ++naive.allocated.count;
            }
        }
        const BlockReaches reaches(segments);
        const AddressSpace space = addressSpace(blocks, &reaches);
        const auto now = reservedNow(space);
        ASSERT_TRUE(now);
        EXPECT_EQ(now->segments, naive.segments);
        EXPECT_EQ(now->reserved, naive.reserved);
        EXPECT_EQ(now->allocated, naive.allocated);
        EXPECT_EQ(now->lost, naive.lost);
        EXPECT_EQ(now->free.blocks, static_cast<std::int64_t>(gaps.size()));
        EXPECT_EQ(now->free.all, freeBlocks(gaps).all);
        EXPECT_EQ(now->free.largest, freeBlocks(gaps).largest);
        EXPECT_EQ(now->free.fragmentation(), freeBlocks(gaps).fragmentation());

        std::set<std::size_t> placed;
        std::uint64_t last = 0;
        for (const AddressStretch& stretch : space.stretches) {
            ASSERT_GE(stretch.begin, last);
            last = stretch.end;
            for (const std::size_t place : stretch.blocks) {
                ASSERT_TRUE(placed.insert(place).second);
                ASSERT_GE(blocks[place].address, stretch.begin);
                ASSERT_LE(blocks[place].address, stretch.end);
            }
        }
        ASSERT_EQ(placed.size(), blocks.size());
    }
}

TEST(AddressSpace, WhatWasTooSmallToSplitOffStaysWithItsBlock) {
    Segment large = segment(kBase, 100);
    large.smallestFree = {20};
    BlockReaches reaches({large});
    const auto happens = [&](MemoryAction action, std::uint64_t at, std::int64_t size) {
        MemoryEvent event = block(at, size);
        event.action = action;
        reaches.take(event);
        return event;
    };
    happens(MemoryAction::kAllocate, kBase + 50, 50);
    const auto kept = happens(MemoryAction::kAllocate, kBase, 40);
    EXPECT_EQ(reaches.reach(kBase), kBase + 50) << "10 were left, and too few";
    happens(MemoryAction::kFree, kBase + 50, 50);
    EXPECT_EQ(reaches.reach(kBase), kBase + 50) << "though more is free behind it now";
    EXPECT_FALSE(reaches.reach(kBase + 50));
    const auto now = reservedNow(addressSpace({kept}, &reaches));
    EXPECT_EQ(now->free.all, Bytes{50});
    EXPECT_EQ(now->lost, Bytes{10});
    EXPECT_EQ(now->allocated, Bytes{40});
}

TEST(AddressSpace, WithoutSegmentsNeighboursAreOneRun) {
    const std::uint64_t far = kBase + 100 + kRunGap;
    const auto space = addressSpace(
        {block(far + 1, 50), block(kBase, 100), block(far + 51 + kRunGap, 8)}, nullptr);
    ASSERT_EQ(space.stretches.size(), 2u);
    EXPECT_EQ(space.stretches[0].begin, kBase);
    EXPECT_EQ(space.stretches[0].end, kBase + 100);
    EXPECT_EQ(space.stretches[1].blocks, (std::vector<std::size_t>{0, 2}));
    EXPECT_EQ(space.stretches[1].allocated, Bytes{58});
    EXPECT_TRUE(space.stretches[1].free.empty()) << "nobody knows what lies between";
    EXPECT_FALSE(reservedNow(space));
    EXPECT_FALSE(space.stretches[0].reserved);
}

TEST(AddressSpace, WhatHasNoPlaceIsLeftOut) {
    MemoryEvent outside = block(1 << 20, 4096);
    outside.category = MemoryCategory::kOutside;
    EXPECT_FALSE(hasPlace(outside));
    EXPECT_FALSE(hasPlace(block(15, 8)));
    EXPECT_TRUE(hasPlace(block(16, 8)));
    EXPECT_TRUE(addressSpace({outside, block(0, 100)}, nullptr).stretches.empty());
}

TEST(AddressSpace, DamagedAddressesAndSizesOverlapNothing) {
    std::mt19937_64 random(11);
    const std::uint64_t odd[] = {0, 16, kBase, ~std::uint64_t{0}, ~std::uint64_t{0} - 8};
    const std::int64_t sizes[] = {0, -5, 1, 100, std::int64_t{1} << 62};
    for (int round = 0; round < 5000; ++round) {
        std::vector<MemoryEvent> blocks(random() % 6);
        for (MemoryEvent& each : blocks) each = block(odd[random() % 5], sizes[random() % 5]);
        std::vector<Segment> raw(random() % 4);
        for (Segment& each : raw)
            each = segment(odd[random() % 5], sizes[random() % 5], random() % 2 == 0);
        const auto segments = segmentsAt(raw, {{{5}, segment(kBase, 50), true}},
                                         {static_cast<std::int64_t>(random() % 10)});
        BlockReaches reaches(segments);
        for (const MemoryEvent& each : blocks) reaches.take(each);
        const auto space = addressSpace(blocks, &reaches);
        std::uint64_t last = 0;
        for (const AddressStretch& stretch : space.stretches) {
            ASSERT_GE(stretch.begin, last);
            ASSERT_GE(stretch.end, stretch.begin);
            last = stretch.end;
            ASSERT_GE(stretch.allocated.count, 0);
        }
        const auto now = reservedNow(space);
        ASSERT_TRUE(now);
        ASSERT_GE(now->lost.count, 0);
    }
}

TEST(BlockEnds, AreTheFirstEventsAtTheirAddresses) {
    std::mt19937_64 random(13);
    for (int round = 0; round < 500; ++round) {
        std::vector<MemoryEvent> alive;
        for (std::uint64_t i = 0; i < 8; ++i) alive.push_back(block(kBase + i, 1));
        std::vector<MemoryEvent> later(random() % 20);
        for (std::size_t i = 0; i < later.size(); ++i) {
            later[i] = block(kBase + random() % 12, 1);
            later[i].time = {static_cast<std::int64_t>(i)};
            later[i].action = random() % 4 == 0 ? MemoryAction::kAllocate : MemoryAction::kFree;
        }
        BlockEnds ends(alive);
        for (const MemoryEvent& event : later) ends.take(event);
        bool all = true;
        for (std::size_t i = 0; i < alive.size(); ++i) {
            const auto first = std::find_if(later.begin(), later.end(), [&](const auto& event) {
                return event.address == alive[i].address;
            });
            ASSERT_EQ(ends.ends()[i].has_value(), first != later.end());
            if (first == later.end())
                all = false;
            else
                ASSERT_EQ(*ends.ends()[i], first->time);
        }
        EXPECT_EQ(ends.complete(), all);
    }
}

}  // namespace
}  // namespace shardscope::analysis
