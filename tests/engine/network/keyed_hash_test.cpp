// Against values that Python's hashlib and hmac compute.
#include "engine/network/keyed_hash.h"

#include <gmock/gmock.h>

#include <set>

namespace shardscope::network {
namespace {

const Key& key() {
    static const Key kKey = keyFrom("correct horse", "run 7");
    return kKey;
}

TEST(KeyedHash, KeysAreThoseOfPbkdf2) {
    EXPECT_EQ(toHex(key()), "256cc586b716b8b43eae4ae82555b895b8d86b1c038ebe181cc4e5f58a6593fa");
    EXPECT_NE(keyFrom("correct horse", "run 8"), key());
}

TEST(KeyedHash, MacsAreThoseOfHmacOverPartsWithTheirLengths) {
    EXPECT_EQ(toHex(macOf(key(), {"task proves", "hello", ""})),
              "e63655163914359d9721c6e21000e28c73c1aa60b38573353c1901a98b4ceb92");
    EXPECT_NE(macOf(key(), {"ab", "c"}), macOf(key(), {"a", "bc"}));
    EXPECT_NE(macOf(key(), {"ab"}), macOf(key(), {"ab", ""}));
}

TEST(KeyedHash, ASealNumbersItsMessages) {
    Seal sender(key()), receiver(key());
    EXPECT_EQ(toHex(sender.next("one")), "ddd83cbb012121d30fe9b1a85b0d9b24");
    EXPECT_EQ(toHex(sender.next("two")), "874d6e760ef98755991f05d94bc5ff34");
    Seal again(key());
    const Seal::Tag first = again.next("one"), second = again.next("two");
    const auto text = [](const Seal::Tag& tag) {
        return std::string(reinterpret_cast<const char*>(tag.data()), tag.size());
    };
    EXPECT_TRUE(receiver.fits("one", text(first)));
    EXPECT_FALSE(receiver.fits("one", text(first))) << "said twice";
    Seal skipping(key());
    EXPECT_FALSE(skipping.fits("two", text(second))) << "the first left out";
    Seal cut(key());
    EXPECT_FALSE(cut.fits("one", text(first).substr(0, 15)));
    Seal empty(key());
    EXPECT_FALSE(empty.fits("one", ""));
}

TEST(KeyedHash, AVeilComesOffAtTheOtherEndAlone) {
    const Key secret = drawKey();
    const Key veiled = Seal(key()).veiled(secret);
    EXPECT_EQ(Seal(key()).veiled(veiled), secret);
    EXPECT_NE(veiled, secret);
    EXPECT_NE(Seal(drawKey()).veiled(veiled), secret);
}

TEST(KeyedHash, HexComesBackAndNothingElseIsAKey) {
    EXPECT_EQ(keyFromHex(toHex(key())), key());
    EXPECT_EQ(keyFromHex(toHex(key()).substr(1)), std::nullopt);
    EXPECT_EQ(keyFromHex(toHex(key()) + "00"), std::nullopt);
    EXPECT_EQ(keyFromHex(std::string(64, 'g')), std::nullopt);
    EXPECT_EQ(keyFromHex(std::string(64, 'A')), std::nullopt);
}

TEST(KeyedHash, NoncesAreNotDrawnTwice) {
    std::set<std::string> drawn;
    for (int i = 0; i < 1000; ++i) drawn.insert(drawNonce());
    EXPECT_EQ(drawn.size(), 1000u);
    EXPECT_EQ(drawn.begin()->size(), kNonceLetters);
}

TEST(KeyedHash, SecretsAreEqualWholeOnly) {
    EXPECT_TRUE(equalSecrets("abc", "abc"));
    EXPECT_FALSE(equalSecrets("abc", "abd"));
    EXPECT_FALSE(equalSecrets("abc", "ab"));
    EXPECT_TRUE(equalSecrets("", ""));
}

}  // namespace
}  // namespace shardscope::network
