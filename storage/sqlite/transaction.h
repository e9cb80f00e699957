// A transaction that rolls back unless committed. Lives within one scope of one thread.
#pragma once

#include "storage/sqlite/connection.h"

namespace shardscope::storage {

class Transaction {
public:
    static Result<Transaction> begin(Connection& connection);
    Transaction(Transaction&& other) noexcept : m_connection(other.m_connection) {
        other.m_connection = nullptr;
    }
    Transaction& operator=(Transaction&&) = delete;
    ~Transaction();

    Result<void> commit();

private:
    explicit Transaction(Connection& connection) : m_connection(&connection) {}
    Connection* m_connection;  ///< null once committed
};

}  // namespace shardscope::storage
