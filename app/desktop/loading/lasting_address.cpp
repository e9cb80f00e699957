#include "app/desktop/loading/lasting_address.h"

#include "storage/recording/remote/remote_address.h"

#include <QFileInfo>

namespace shardscope::desktop {

QString lastingAddress(const OpenRecording& recording) {
    const QString& address = recording.address();
    const bool asItIs =
        storage::remote::isRemote(recording.path.toStdString()) || address.contains(u'\n');
    return asItIs ? address : QFileInfo(address).absoluteFilePath();
}

}  // namespace shardscope::desktop
