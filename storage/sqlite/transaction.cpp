#include "storage/sqlite/transaction.h"

namespace shardscope::storage {

Result<Transaction> Transaction::begin(Connection& connection) {
    if (auto begun = connection.execute("BEGIN IMMEDIATE"); !begun) return failure(begun);
    return Transaction(connection);
}

Transaction::~Transaction() {
    // A full disk has rolled back already; a second ROLLBACK would be an error of its own.
    if (m_connection != nullptr && m_connection->inTransaction())
        static_cast<void>(m_connection->execute("ROLLBACK"));
}

Result<void> Transaction::commit() {
    if (auto done = m_connection->execute("COMMIT"); !done) return done;
    m_connection = nullptr;
    return {};
}

}  // namespace shardscope::storage
