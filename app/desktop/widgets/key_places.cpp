#include "app/desktop/widgets/key_places.h"

namespace shardscope::desktop {
namespace {

// evdev codes + 8, as X11 and Wayland's xkb report them
constexpr quint32 kScan1 = 10;
constexpr quint32 kScan9 = 18;
constexpr quint32 kScanW = 25;
constexpr quint32 kScanA = 38;
constexpr quint32 kScanS = 39;
constexpr quint32 kScanD = 40;

bool isOfBlock(int key) {
    return key == Qt::Key_W || key == Qt::Key_A || key == Qt::Key_S || key == Qt::Key_D;
}

}  // namespace

std::optional<Qt::Key> keyAtPlace(quint32 scanCode) {
    if (scanCode >= kScan1 && scanCode <= kScan9)
        return static_cast<Qt::Key>(Qt::Key_1 + static_cast<int>(scanCode - kScan1));
    switch (scanCode) {
        case kScanW:
            return Qt::Key_W;
        case kScanA:
            return Qt::Key_A;
        case kScanS:
            return Qt::Key_S;
        case kScanD:
            return Qt::Key_D;
        default:
            return std::nullopt;
    }
}

int keyOfBlock(int key, quint32 scanCode) {
    const auto placed = keyAtPlace(scanCode);
    if (placed && isOfBlock(*placed)) return *placed;
    return isOfBlock(key) && scanCode != 0 ? Qt::Key_unknown : key;
}

}  // namespace shardscope::desktop
