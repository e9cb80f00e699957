// One moment of memory in the window: the address space as laid out and painted, what is said of
// blocks, and the page by mouse and keys on snapshots, our own recordings and traces without
// memory.
#include "app/desktop/models/address_data.h"
#include "app/desktop/models/format.h"
#include "app/desktop/pages/memory/memory_page.h"
#include "app/desktop/pages/memory/moment_model.h"
#include "app/desktop/pages/memory/moment_panel.h"
#include "app/desktop/widgets/data_table.h"
#include "app/desktop/widgets/detail_list.h"
#include "app/desktop/widgets/pictures/address_map.h"
#include "app/desktop/widgets/pictures/stacked_area.h"
#include "app/desktop/widgets/theme.h"
#include "tests/app/desktop/double_click.h"
#include "tests/app/desktop/window_fixture.h"
#include "tests/support/allocator_snapshot.h"

#include <QFile>
#include <QLabel>
#include <QPushButton>
#include <QSignalSpy>
#include <cmath>
#include <memory>
#include <random>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

AddressPart part(std::uint64_t begin, std::uint64_t size) {
    return {begin, begin + size, true, {}, {}};
}

TEST(AddressRows, DrawEveryByteOnceWithinTheirWidth) {
    std::mt19937_64 random(5);
    for (int round = 0; round < 500; ++round) {
        std::vector<AddressPart> parts;
        std::uint64_t at = 1 + random() % 1000, bytes = 0;
        for (auto count = 1 + random() % 40; count > 0; --count) {
            const std::uint64_t size = random() % (random() % 8 == 0 ? 5'000'000 : 50'000);
            parts.push_back(part(at, size));
            at += size + random() % 100;
            bytes += size;
        }
        const int width = 50 + static_cast<int>(random() % 1000), rows = 16;
        const AddressRows laid = layOutAddresses(parts, width, rows, 4);
        ASSERT_LE(laid.rows.size(), 2 * rows + 2u) << "it fits";
        std::vector<std::uint64_t> next;
        for (const AddressPart& each : parts) next.push_back(each.begin);
        for (const auto& row : laid.rows) {
            double free = 0;
            for (const AddressCell& cell : row) {
                ASSERT_EQ(cell.begin, next[cell.part]);
                next[cell.part] = cell.end;
                ASSERT_GE(cell.x, free - 1e-6);
                free = cell.x + cell.width;
                ASSERT_LE(free, width + 1.001);
                ASSERT_NEAR(cell.width * laid.bytesPerPixel,
                            static_cast<double>(cell.end - cell.begin), 1e-3 * laid.bytesPerPixel);
                const bool whole =
                    cell.begin == parts[cell.part].begin && cell.end == parts[cell.part].end;
                const double wide =
                    static_cast<double>(parts[cell.part].size()) / laid.bytesPerPixel;
                EXPECT_TRUE(whole || wide > width) << "what fits on a row is not broken";
            }
        }
        for (std::size_t i = 0; i < parts.size(); ++i) ASSERT_EQ(next[i], parts[i].end);
    }
    EXPECT_TRUE(layOutAddresses({}, 100, 16, 4).rows.empty());
    EXPECT_TRUE(layOutAddresses({part(1, 0)}, 100, 16, 4).rows.empty());
}

TEST(AddressRows, OfVeryManyPartsHaveNoGaps) {
    std::vector<AddressPart> parts;
    for (std::uint64_t i = 0; i < 20'000; ++i) parts.push_back(part(i * 100, 50));
    const AddressRows laid = layOutAddresses(parts, 800, 16, 4);
    EXPECT_LE(laid.rows.size(), 20u);
}

/// Two segments: a large block, free memory and a small block; a block alone.
AddressData someMemory() {
    AddressData data;
    data.parts = {part(0x10000, 4000), part(0x20000, 4000)};
    data.parts[0].blocks = {{0x10000, 0x10000 + 2000, 7, Meaning::kActivation, -1},
                            {0x10000 + 3000, 0x10000 + 3900, 8, Meaning::kOptimizer, -1}};
    data.parts[0].free = {{0x10000 + 2000, 0x10000 + 3000}};
    data.parts[1].blocks = {{0x20000, 0x20000 + 4000, 9, Meaning::kGather, -1}};
    return data;
}

class AddressMapTest : public ::testing::Test {
protected:
    void SetUp() override {
        m_map.resize(900, 100);
        m_map.setData(std::make_shared<const AddressData>(someMemory()));
        m_map.show();
    }
    AddressMap m_map;
};

TEST_F(AddressMapTest, BlocksHaveTheirColoursWhereTheyLie) {
    const QImage image = m_map.grab().toImage();
    const Theme& theme = Theme::of(&m_map);
    const std::pair<int, Meaning> expected[] = {
        {7, Meaning::kActivation}, {8, Meaning::kOptimizer}, {9, Meaning::kGather}};
    for (const auto& [id, meaning] : expected) {
        const QPoint middle = m_map.areaOf(id).center().toPoint();
        ASSERT_FALSE(m_map.areaOf(id).isEmpty());
        EXPECT_EQ(image.pixelColor(middle).rgb(), theme.fill(meaning).colour.rgb()) << id;
        const auto hit = m_map.hitAt(middle);
        ASSERT_TRUE(hit);
        EXPECT_EQ(hit->kind, AddressHit::Kind::kBlock);
        EXPECT_EQ(hit->id, id);
    }
    EXPECT_TRUE(m_map.areaOf(12).isEmpty());
    EXPECT_FALSE(m_map.hitAt({2, 2})) << "addresses stand there";
}

TEST_F(AddressMapTest, FreeAndLostMemoryAreTold) {
    int free = 0, lost = 0;
    for (int y = 0; y < m_map.height(); ++y)
        for (int x = 0; x < m_map.width(); ++x) {
            const auto hit = m_map.hitAt(QPointF(x, y));
            if (!hit) continue;
            free += hit->kind == AddressHit::Kind::kFree;
            lost += hit->kind == AddressHit::Kind::kLost;
            EXPECT_NE(hit->kind, AddressHit::Kind::kBetween) << "all of it is reserved";
            EXPECT_TRUE(hit->kind != AddressHit::Kind::kFree || hit->end - hit->begin == 1000);
        }
    EXPECT_GT(free, 5 * lost);
    EXPECT_GT(lost, 0) << "100 bytes behind the second block";
}

TEST_F(AddressMapTest, KeysGoFromBlockToBlock) {
    QSignalSpy picked(&m_map, &AddressMap::blockPicked);
    QObject::connect(&m_map, &AddressMap::blockPicked, &m_map, &AddressMap::selectBlock);
    for (int i = 0; i < 4; ++i) QTest::keyClick(&m_map, Qt::Key_Right);
    QTest::keyClick(&m_map, Qt::Key_Left);
    QTest::mouseClick(&m_map, Qt::LeftButton, Qt::NoModifier, m_map.areaOf(7).center().toPoint());
    std::vector<int> ids;
    for (const auto& each : picked) ids.push_back(each.front().toInt());
    EXPECT_EQ(ids, (std::vector<int>{7, 8, 9, 8, 7}));
}

TEST_F(AddressMapTest, OneStretchCanFillAllRows) {
    const auto pixelsOf = [&](int id) {
        int pixels = 0;
        for (int y = 0; y < m_map.height(); ++y)
            for (int x = 0; x < m_map.width(); ++x) {
                const auto hit = m_map.hitAt(QPointF(x, y));
                pixels += hit && hit->id == id;
            }
        return pixels;
    };
    const int before = pixelsOf(8);
    m_map.selectBlock(8);
    QTest::keyClick(&m_map, Qt::Key_Z);
    EXPECT_NEAR(pixelsOf(8), 2 * before, before / 2);
    EXPECT_TRUE(m_map.areaOf(9).isEmpty()) << "it lies in the other one";
    m_map.selectBlock(9);
    EXPECT_FALSE(m_map.areaOf(9).isEmpty()) << "what is picked is seen";
    QTest::keyClick(&m_map, Qt::Key_Escape);
    EXPECT_EQ(pixelsOf(8), before);
    doubleClick(&m_map, m_map.areaOf(9).center().toPoint());
    EXPECT_TRUE(m_map.areaOf(8).isEmpty());
    doubleClick(&m_map, m_map.areaOf(9).center().toPoint());
    EXPECT_FALSE(m_map.areaOf(8).isEmpty());
}

/// A frame of three blocks: known from beginning to end, there before, and no block of its own.
MomentFrame someMoment() {
    MomentFrame frame;
    frame.query = {RankId{1}, Timestamp{5'000'000}};
    frame.doing = u"step 3"_s;
    MemoryEvent block;
    block.address = 0x7f00;
    block.size = {3 << 20};
    block.time = {1'000'000};
    block.category = MemoryCategory::kActivation;
    frame.blocks.push_back(block);
    block.address = 0x10;
    block.size = {1000};
    frame.blocks.push_back(block);
    block.address = 1;
    block.category = MemoryCategory::kOutside;
    block.size = {500};
    frame.blocks.push_back(block);
    frame.startsKnown = {true, false, false};
    frame.hasPlaces = true;
    frame.alive = {(3 << 20) + 1500};
    frame.owners = {u"aten::mm"_s, QString()};
    frame.names = {0, 1, 1};
    return frame;
}

TEST(MomentModel, SaysWhatIsKnownOfABlockAndWhatIsNot) {
    const MomentFrame frame = someMoment();
    OpenRecording recording;
    recording.summary.bounds = {{0}, {9'000'000}};
    const BlockEnds ends{Timestamp{6'500'000}, std::nullopt, std::nullopt};
    const TableRows rows = blockRows(frame, recording, &ends);
    ASSERT_EQ(rows.size(), 3u);
    EXPECT_EQ(rows[0][0].text, u"0x7f00"_s);
    EXPECT_EQ(exactNumber(rows[0][1].exact), u"3145728"_s) << "copied in full";
    EXPECT_EQ(exactNumber(rows[0][3].exact), u"1000000"_s);
    EXPECT_EQ(exactNumber(rows[0][5].exact), u"5500000"_s);
    EXPECT_EQ(rows[1][2].text, u"(unnamed)"_s);
    EXPECT_EQ(rows[1][3].text, unknownText());
    EXPECT_EQ(rows[1][4].text, u"not freed"_s);
    EXPECT_EQ(rows[1][5].text, u"> 8.00\u2009ms"_s);
    EXPECT_EQ(rows[2][0].text, unknownText()) << "a sum lies nowhere";
    EXPECT_TRUE(blocksLeftOut(frame).contains(u"500"_s));
    EXPECT_EQ(blockRows(frame, recording, nullptr)[0][4].text, u"…"_s);

    const auto said = [&](std::size_t block, const QString& name) {
        for (const auto& [key, value] : blockDetails(frame, recording, block, &ends))
            if (key == name) return value;
        return QString();
    };
    EXPECT_TRUE(said(0, u"size"_s).contains(u"3,145,728"_s));
    EXPECT_EQ(said(1, u"allocated at"_s), u"before what is recorded"_s);
    EXPECT_EQ(said(1, u"freed at"_s), u"not freed: alive at the end"_s);
    EXPECT_EQ(said(2, u"allocated at"_s), QString());
    recording.beingWritten = true;
    EXPECT_EQ(said(1, u"freed at"_s), u"not freed: alive so far"_s);
}

TEST(MomentModel, SaysWhatIsReservedAndFree) {
    MomentFrame frame = someMoment();
    frame.unknown = u"segments are not there"_s;
    EXPECT_TRUE(reservedRows(frame).empty());
    EXPECT_TRUE(reservedNote(frame).contains(u"unknown: segments are not there"_s));
    analysis::ReservedNow now;
    now.segments = 2;
    now.reserved = {100 << 20};
    now.free = {3, {40 << 20}, {10 << 20}};
    frame.reserved = now;
    EXPECT_EQ(reservedRows(frame).back().second, u"75.0\u2009%"_s);
    EXPECT_TRUE(reservedNote(frame).contains(u"1 − 10.0\u2009MiB / 40.0\u2009MiB"_s));
    frame.reserved->free = {};
    EXPECT_EQ(reservedRows(frame).back().second, u"none: nothing is free"_s);
}

TEST(MomentModel, OwnersDoNotHideWhatNoBlockExplains) {
    MomentFrame frame = someMoment();
    EXPECT_FALSE(ownersNote(frame, frame.alive).contains(u"in no known block"_s));
    EXPECT_FALSE(ownersNote(frame, std::nullopt).contains(u"the peak"_s));
    const Bytes peak = frame.alive + Bytes{5 << 20};
    EXPECT_TRUE(ownersNote(frame, peak)
                    .contains(u"The other 5.00\u2009MiB of the peak is in no known block"_s))
        << ownersNote(frame, peak).toStdString();
}

TEST(MomentModel, HoverNamesTheBlockOrTheGap) {
    const MomentFrame frame = someMoment();
    AddressHit hit{AddressHit::Kind::kBlock, 0, 0x7f00, 0x8000, 0};
    const QString block = hoverText(frame, hit);
    for (const QString& word :
         {u"0x7f00"_s, u"3.00\u2009MiB"_s, u"aten::mm"_s, u"activations"_s, u"4.00\u2009ms old"_s})
        EXPECT_TRUE(block.contains(word)) << block.toStdString();
    hit.id = 1;
    EXPECT_TRUE(hoverText(frame, hit).contains(u"older than"_s));
    hit = {AddressHit::Kind::kFree, -1, 0x1000, 0x2000, 0};
    EXPECT_TRUE(hoverText(frame, hit).contains(u"free: 4.00\u2009KiB"_s));
}

TEST(MomentModel, ManyBlocksAreAFewRowsAndACount) {
    MomentFrame frame = someMoment();
    frame.blocks.assign(1000, frame.blocks.front());
    frame.names.assign(1000, 0);
    frame.startsKnown.assign(1000, true);
    OpenRecording recording;
    EXPECT_EQ(blockRows(frame, recording, nullptr).size(), kMostBlockRows);
    EXPECT_TRUE(blocksLeftOut(frame).contains(u"the other 700 have 2.05\u2009GiB"_s))
        << blocksLeftOut(frame).toStdString();
}

class MemoryMomentPage : public WindowTest {
protected:
    MemoryPage& page() { return *qobject_cast<MemoryPage*>(m_window->page(u"memory"_s)); }
    const MomentPanel& panel() { return page().moment(); }
    void showPage() {
        m_window->resize(1600, 1000);
        m_window->showPage(u"memory"_s);
        settle();
    }
    void openSnapshot(const test::SnapshotOptions& options = {}) {
        m_drawn = test::drawSnapshot(options);
        openTrace(u"made.pickle"_s, QByteArray::fromStdString(m_drawn.pickle));
    }
    void openTrace(const QString& name, const QByteArray& bytes) {
        const QString path = m_folder.filePath(name);
        QFile file(path);
        ASSERT_TRUE(file.open(QIODevice::WriteOnly));
        file.write(bytes);
        file.close();
        QSignalSpy opened(&m_window->loader(), &RecordingLoader::opened);
        m_window->openFile(path);
        ASSERT_TRUE(opened.wait(20'000));
        showPage();
    }
    void clickPicture(double share) {
        auto* picture = page().findChild<StackedArea*>();
        const int left = picture->width() - 8 - picture->plotWidth();
        QTest::mouseClick(picture, Qt::LeftButton, Qt::NoModifier,
                          QPoint(left + static_cast<int>(share * picture->plotWidth()), 100));
        settle();
    }
    QPushButton* button(const QString& text) {
        for (auto* each : page().findChildren<QPushButton*>())
            if (each->text() == text) return each;
        return nullptr;
    }
    test::AllocatorSnapshot m_drawn;
};

TEST_F(MemoryMomentPage, OfASnapshotShowsThePeakAndItsFragmentation) {
    ASSERT_NO_FATAL_FAILURE(openSnapshot());
    ASSERT_TRUE(panel().isVisible());
    const auto peak =
        std::max_element(m_drawn.states.begin(), m_drawn.states.end(),
                         [](const auto& a, const auto& b) { return a.requested < b.requested; });
    ASSERT_TRUE(panel().frame());
    EXPECT_EQ(panel().frame()->query.time.ns, peak->timeNs);
    EXPECT_EQ(panel().frame()->alive.count, peak->requested);
    EXPECT_EQ(panel().table().table()->allRows(), peak->blocks);
    const auto share = panel().frame()->reserved->free.fragmentation();
    ASSERT_TRUE(share);
    EXPECT_EQ(panel().reserved().rows().back().second, formatPercent(*share));
    EXPECT_EQ(panel().stack().rows().size(), 2u) << "of the largest block";
    EXPECT_TRUE(panel().stack().rows()[1].second.contains(u"model.py"_s));
    EXPECT_FALSE(button(u"Back to the peak"_s)->isVisible());
    keepPicture(u"moment-peak"_s);
}

TEST_F(MemoryMomentPage, AClickShowsAnotherTimeAndAButtonThePeakAgain) {
    ASSERT_NO_FATAL_FAILURE(openSnapshot());
    const MomentFramePtr peak = panel().frame();
    clickPicture(0.2);
    const MomentFramePtr other = panel().frame();
    EXPECT_NE(other->query, peak->query);
    const auto state =
        std::find_if(m_drawn.states.rbegin(), m_drawn.states.rend(),
                     [&](const auto& each) { return each.timeNs <= other->query.time.ns; });
    EXPECT_EQ(other->alive.count, state->requested);
    EXPECT_EQ(other->reserved->reserved.count, state->reserved);
    keepPicture(u"moment-other"_s);
    ASSERT_TRUE(button(u"Back to the peak"_s)->isVisible());
    button(u"Back to the peak"_s)->click();
    settle();
    EXPECT_EQ(panel().frame()->query, peak->query);
    clickPicture(0.2);
    m_window->selection().selectRange({other->query.time, other->query.time + Duration{100'000}});
    settle();
    EXPECT_NE(panel().frame()->query, other->query) << "another selection has a peak of its own";
}

TEST_F(MemoryMomentPage, BlocksArePickedInTheMapAndInTheTable) {
    ASSERT_NO_FATAL_FAILURE(openSnapshot());
    EXPECT_EQ(panel().pickedBlock(), 0);
    const QPoint third = panel().map().areaOf(2).center().toPoint();
    QTest::mouseClick(&panel().map(), Qt::LeftButton, Qt::NoModifier, third);
    settle();
    EXPECT_EQ(panel().pickedBlock(), 2);
    EXPECT_EQ(panel().table().currentIndex().row(), 2);
    panel().table().selectRow(1);
    settle();
    EXPECT_EQ(panel().pickedBlock(), 1);
    const auto& rows = panel().details().rows();
    const auto address = std::find_if(rows.begin(), rows.end(),
                                      [](const auto& row) { return row.first == u"address"_s; });
    ASSERT_NE(address, rows.end());
    EXPECT_EQ(address->second, u"0x"_s + QString::number(panel().frame()->blocks[1].address, 16));
    QSignalSpy hovered(&page(), &Page::hoverChanged);
    movePointer(&panel().map(), third);
    ASSERT_FALSE(hovered.isEmpty());
    EXPECT_TRUE(hovered.back().front().toString().contains(u"0x"_s));
}

TEST_F(MemoryMomentPage, TheBlockStaysPickedWhereItLives) {
    ASSERT_NO_FATAL_FAILURE(openSnapshot());
    panel().table().selectRow(3);
    const std::uint64_t address = panel().frame()->blocks[3].address;
    const MomentFramePtr before = panel().frame();
    m_window->resize(1300, 900);
    settle();
    EXPECT_EQ(panel().frame(), before) << "nothing is asked twice";
    EXPECT_EQ(panel().pickedBlock(), 3);
    clickPicture(0.82);  // soon after the peak
    ASSERT_NE(panel().frame(), before);
    const auto& blocks = panel().frame()->blocks;
    const bool lives = std::any_of(blocks.begin(), blocks.end(), [&](const MemoryEvent& block) {
        return block.address == address && block.time == before->blocks[3].time;
    });
    const auto picked = static_cast<std::size_t>(panel().pickedBlock());
    EXPECT_EQ(blocks[picked].address, lives ? address : blocks[0].address);
}

TEST_F(MemoryMomentPage, EndsArriveAfterTheBlocks) {
    ASSERT_NO_FATAL_FAILURE(openSnapshot());
    const DataTable& table = panel().table();
    bool anyFreed = false;
    for (int row = 0; row < table.table()->rowCount(); ++row) {
        const QString freed = table.table()->index(row, 4).data().toString();
        EXPECT_NE(freed, u"…"_s);
        anyFreed = anyFreed || freed.endsWith(u"s"_s);
    }
    EXPECT_TRUE(anyFreed);
}

/// The stack of a block comes when the panel may show another time, of fewer blocks.
TEST_F(MemoryMomentPage, NoBlockIsPickedWhereNoneIsAlive) {
    ASSERT_NO_FATAL_FAILURE(openSnapshot());
    panel().table().selectRow(3);
    ASSERT_EQ(panel().pickedBlock(), 3);
    auto* shown = page().findChild<MomentPanel*>();
    const MomentQuery before{panel().frame()->query.rank, {-1'000'000'000}};
    shown->showMoment(m_window->loader().recording(), before, true);
    ASSERT_TRUE(QTest::qWaitFor([&] { return shown->isHidden(); }));
    EXPECT_EQ(panel().pickedBlock(), -1);
    settle();
    EXPECT_TRUE(panel().frame()->blocks.empty());
}

TEST_F(MemoryMomentPage, OfOurOwnRunsHasBlocksButNoFragmentation) {
    openSample();
    showPage();
    ASSERT_TRUE(panel().isVisible());
    EXPECT_GT(panel().table().table()->allRows(), 0);
    EXPECT_TRUE(panel().reservedText().contains(u"unknown"_s));
    EXPECT_FALSE(panel().reserved().isVisible());
    EXPECT_FALSE(panel().stack().isVisible()) << "no stack, no heading";
    keepPicture(u"moment-own"_s);
}

/// Kineto's memory events: 20 blocks of 1 MiB, one after the other.
QByteArray kinetoMemory(bool addresses) {
    QByteArray events;
    for (int i = 0; i < 20; ++i)
        events += QByteArray(i == 0 ? "" : ",") +
                  R"({"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":7,)" +
                  R"("tid":7,"ts":)" + QByteArray::number(1000 + 10 * i) +
                  R"(,"args":{"Bytes":1048576,"Device Type":1,"Device Id":0)" +
                  (addresses ? R"(,"Addr":)" + QByteArray::number((i + 1) << 21) : QByteArray()) +
                  "}}";
    return R"({"schemaVersion":1,"traceEvents":[)" + events + "]}";
}

TEST_F(MemoryMomentPage, OfATraceWithAddressesShowsItsBlocks) {
    ASSERT_NO_FATAL_FAILURE(openTrace(u"trace.json"_s, kinetoMemory(true)));
    ASSERT_TRUE(panel().isVisible());
    EXPECT_EQ(panel().table().table()->allRows(), 20);
    EXPECT_EQ(panel().frame()->alive, Bytes{20 << 20});
}

TEST_F(MemoryMomentPage, WithoutAddressesBlocksCannotBeTold) {
    ASSERT_NO_FATAL_FAILURE(openTrace(u"trace.json"_s, kinetoMemory(false)));
    EXPECT_FALSE(panel().isVisible());
    bool told = false;
    for (const auto* label : page().findChildren<QLabel*>())
        told = told || (label->isVisible() && label->text().contains(u"have no addresses"_s));
    EXPECT_TRUE(told) << "not that one block makes the peak";
    EXPECT_TRUE(ownerRows(*panel().frame(), 10).empty());
}

TEST_F(MemoryMomentPage, WithoutMemoryEventsShowsNoHeading) {
    test::SampleOptions options;
    options.memory = false;
    openSample(options);
    showPage();
    EXPECT_FALSE(panel().isVisible());
    ASSERT_NO_FATAL_FAILURE(openSnapshot());
    EXPECT_TRUE(panel().isVisible()) << "of the next recording it is shown again";
}

}  // namespace
}  // namespace shardscope::desktop
