#include "app/desktop/models/write_file.h"

#include <QSaveFile>

namespace shardscope::desktop {

Result<void> writeFile(const QString& path, const QByteArray& bytes) {
    QSaveFile file(path);
    if (file.open(QIODevice::WriteOnly) && file.write(bytes) == bytes.size() && file.commit())
        return {};
    return failure(ErrorCode::kFailure, path.toStdString() + " could not be written: " +
                                            file.errorString().toStdString() +
                                            "; choose another folder or make room");
}

}  // namespace shardscope::desktop
