// Keys by their place, whatever is printed on them: on AZERTY the digit row gives "&é" unshifted,
// and W A S D do not form a block. Pure.
#pragma once

#include <QtCore/qnamespace.h>

#include <QtGlobal>
#include <optional>

namespace shardscope::desktop {

/// The key of a US keyboard at the place of `scanCode`, as X11 and Wayland report it: W, A, S, D
/// or 1 to 9. Other places, and 0 (not known), are none.
[[nodiscard]] std::optional<Qt::Key> keyAtPlace(quint32 scanCode);

/// `key`, or of a W A S D block what stands at its place: on a layout that has moved them, the keys
/// of those letters do not zoom.
[[nodiscard]] int keyOfBlock(int key, quint32 scanCode);

}  // namespace shardscope::desktop
