// SPDX-License-Identifier: Apache-2.0
#include "front/net/connection_peek.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

// Proves that every prefix of a good beginning is undecided until the decision is
// certain, that the decision is the right one and never changes with more bytes,
// and that no input makes the classifier ask for more than kPeekBytesMax.

namespace sluice::front::net {
namespace {

constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

void AppendNumber(std::string& out, std::size_t value, int width_bytes) {
  for (int shift = (width_bytes - 1) * 8; shift >= 0; shift -= 8) {
    out.push_back(static_cast<char>(value >> shift & 0xff));
  }
}

std::string WithLength(std::string_view body, int width_bytes) {
  std::string out;
  AppendNumber(out, body.size(), width_bytes);
  return out.append(body);
}

std::string Extension(std::size_t type, std::string_view body) {
  std::string out;
  AppendNumber(out, type, 2);
  return out + WithLength(body, 2);
}

std::string AlpnExtension(const std::vector<std::string>& protocols) {
  std::string names;
  for (const std::string& protocol : protocols) names += WithLength(protocol, 1);
  return Extension(16, WithLength(names, 2));
}

constexpr std::size_t kServerName = 0;

// The handshake message alone, without record headers.
std::string HelloMessage(std::string_view extensions) {
  std::string body("\x03\x03", 2);
  body += std::string(32, 'r');
  body += WithLength(std::string(32, 's'), 1);
  body += WithLength(std::string("\x13\x01\x13\x02", 4), 2);
  body += WithLength(std::string(1, '\0'), 1);
  if (!extensions.empty()) body += WithLength(extensions, 2);
  return std::string(1, '\x01') + WithLength(body, 3);
}

std::string Records(std::string_view message, std::size_t record_bytes_max) {
  std::string out;
  while (!message.empty()) {
    out += std::string("\x16\x03\x01", 3);
    out += WithLength(message.substr(0, record_bytes_max), 2);
    message.remove_prefix(std::min(record_bytes_max, message.size()));
  }
  return out;
}

std::string Hello(const std::vector<std::string>& protocols) {
  return Records(HelloMessage(Extension(kServerName, "name") + AlpnExtension(protocols)), 16384);
}

// Every proper prefix must be undecided or already have the final verdict.
void ExpectEachPrefixAgrees(std::string_view bytes, PeekVerdict verdict) {
  bool is_decided = false;
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    const PeekVerdict seen = ClassifyConnection(bytes.substr(0, size));
    if (seen == PeekVerdict::kNeedMore) {
      EXPECT_FALSE(is_decided) << "undecided again at " << size;
    } else {
      is_decided = true;
      EXPECT_EQ(seen, verdict) << "at " << size;
    }
  }
  EXPECT_TRUE(is_decided);
}

TEST(ConnectionPeek, Http2PrefaceIsGrpcOnlyWhenComplete) {
  EXPECT_EQ(ClassifyConnection(kPreface.substr(0, kPreface.size() - 1)), PeekVerdict::kNeedMore);
  ExpectEachPrefixAgrees(kPreface, PeekVerdict::kGrpcCleartext);
  EXPECT_EQ(ClassifyConnection(std::string(kPreface) + "more"), PeekVerdict::kGrpcCleartext);
}

TEST(ConnectionPeek, BrokenPrefaceIsRefused) {
  EXPECT_EQ(ClassifyConnection("PRI * HTTP/2.1\r\n"), PeekVerdict::kRefuse);
  EXPECT_EQ(ClassifyConnection("PRI / HTTP/1.1\r\n\r\n"), PeekVerdict::kRefuse);
}

TEST(ConnectionPeek, RequestLinesAreHttp1) {
  for (const char* line : {"GET / HTTP/1.1\r\n", "POST /v2/x HTTP/1.1", "PATCH /", "DELETE /a",
                           "PROPFIND / HTTP/1.1", "PRIVATE / HTTP/1.1", "M-SEARCH * HTTP/1.1"}) {
    ExpectEachPrefixAgrees(line, PeekVerdict::kHttp1Cleartext);
  }
}

TEST(ConnectionPeek, GarbageIsRefusedAtItsFirstWrongByte) {
  EXPECT_EQ(ClassifyConnection(std::string(1, '\0')), PeekVerdict::kRefuse);
  EXPECT_EQ(ClassifyConnection("\xff\xfe"), PeekVerdict::kRefuse);
  EXPECT_EQ(ClassifyConnection("hello\r\n"), PeekVerdict::kRefuse);
  EXPECT_EQ(ClassifyConnection(" GET /"), PeekVerdict::kRefuse);
  EXPECT_EQ(ClassifyConnection("GET\r\n"), PeekVerdict::kRefuse);
  EXPECT_EQ(ClassifyConnection("SSH-2.0-x"), PeekVerdict::kRefuse);
  EXPECT_EQ(ClassifyConnection("\x16\x02"), PeekVerdict::kRefuse);
}

TEST(ConnectionPeek, MethodOfUnreasonableLengthIsRefused) {
  const std::string longest(kMethodBytesMax, 'A');
  EXPECT_EQ(ClassifyConnection(longest), PeekVerdict::kNeedMore);
  EXPECT_EQ(ClassifyConnection(longest + " /"), PeekVerdict::kHttp1Cleartext);
  EXPECT_EQ(ClassifyConnection(longest + "A"), PeekVerdict::kRefuse);
}

TEST(ConnectionPeek, ClientHelloOfferingOnlyHttp2IsGrpc) {
  ExpectEachPrefixAgrees(Hello({"h2"}), PeekVerdict::kGrpcTls);
  ExpectEachPrefixAgrees(Hello({"grpc-exp", "h2"}), PeekVerdict::kGrpcTls);
}

TEST(ConnectionPeek, ClientHelloOfferingHttp1OrNothingIsHttp1) {
  ExpectEachPrefixAgrees(Hello({"h2", "http/1.1"}), PeekVerdict::kHttp1Tls);
  ExpectEachPrefixAgrees(Hello({"http/1.1"}), PeekVerdict::kHttp1Tls);
  ExpectEachPrefixAgrees(Hello({"h3"}), PeekVerdict::kHttp1Tls);
  ExpectEachPrefixAgrees(Records(HelloMessage(Extension(kServerName, "name")), 16384),
                         PeekVerdict::kHttp1Tls);
  ExpectEachPrefixAgrees(Records(HelloMessage(""), 16384), PeekVerdict::kHttp1Tls);
}

TEST(ConnectionPeek, ClientHelloMayBeCutIntoRecordsAnywhere) {
  const std::string message = HelloMessage(AlpnExtension({"h2"}));
  for (const std::size_t record_bytes : {std::size_t{1}, std::size_t{3}, std::size_t{50}}) {
    ExpectEachPrefixAgrees(Records(message, record_bytes), PeekVerdict::kGrpcTls);
  }
}

TEST(ConnectionPeek, LengthsThatContradictEachOtherAreRefused) {
  const std::string good = Hello({"h2"});
  // The ALPN list claims one byte more than its extension holds.
  std::string alpn = AlpnExtension({"h2"});
  alpn[5] = static_cast<char>(alpn[5] + 1);
  EXPECT_EQ(ClassifyConnection(Records(HelloMessage(alpn), 16384)), PeekVerdict::kRefuse);
  // A protocol name of no bytes.
  EXPECT_EQ(ClassifyConnection(Records(HelloMessage(AlpnExtension({""})), 16384)),
            PeekVerdict::kRefuse);
  // The hello ends inside its extensions.
  std::string message = HelloMessage(Extension(kServerName, "name"));
  message[3] = static_cast<char>(message[3] - 1);
  EXPECT_EQ(ClassifyConnection(Records(message, 16384)), PeekVerdict::kRefuse);
  // Not a ClientHello.
  message = HelloMessage("");
  message[0] = 2;
  EXPECT_EQ(ClassifyConnection(Records(message, 16384)), PeekVerdict::kRefuse);
}

TEST(ConnectionPeek, ClientHelloThatNeverEndsIsRefusedAtTheMaximum) {
  std::string message("\x01\x00\x40\x00", 4);  // 16384 bytes to come
  message += std::string("\x03\x03", 2) + std::string(32, 'r');
  message += std::string("\x00\xff\xff", 3) + std::string(kPeekBytesMax, 'c');
  const std::string bytes = Records(message, 100);
  EXPECT_EQ(ClassifyConnection(bytes.substr(0, kPeekBytesMax - 1)), PeekVerdict::kNeedMore);
  EXPECT_EQ(ClassifyConnection(bytes.substr(0, kPeekBytesMax)), PeekVerdict::kRefuse);
  EXPECT_EQ(ClassifyConnection(std::string("\x16\x03\x01\x40\x01", 5)), PeekVerdict::kRefuse);
}

// Random damage to good beginnings: the verdict must be stable under more bytes,
// and an undecided input of the maximal size must not exist.
TEST(ConnectionPeek, DamagedBeginningsNeverFlipTheirVerdict) {
  constexpr std::uint64_t kSeed = 8085;
  constexpr int kRounds = 1000;
  std::mt19937_64 random(kSeed);
  const std::vector<std::string> good = {std::string(kPreface), "GET / HTTP/1.1\r\n\r\n",
                                         Hello({"h2"}), Hello({"h2", "http/1.1"}),
                                         Records(HelloMessage(AlpnExtension({"h2"})), 7)};
  for (int round = 0; round < kRounds; ++round) {
    std::string bytes = good[random() % good.size()];
    const std::size_t damages = 1 + random() % 4;
    for (std::size_t i = 0; i < damages; ++i) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    PeekVerdict decided = PeekVerdict::kNeedMore;
    for (std::size_t size = 0; size <= bytes.size(); ++size) {
      const PeekVerdict seen = ClassifyConnection(std::string_view(bytes).substr(0, size));
      if (decided != PeekVerdict::kNeedMore) {
        ASSERT_EQ(seen, decided) << "seed " << kSeed << " round " << round << " at " << size;
      }
      decided = seen;
    }
    while (bytes.size() < kPeekBytesMax) bytes.push_back(static_cast<char>(random()));
    ASSERT_NE(ClassifyConnection(bytes), PeekVerdict::kNeedMore)
        << "seed " << kSeed << " round " << round;
  }
}

}  // namespace
}  // namespace sluice::front::net
