// SPDX-License-Identifier: Apache-2.0
#include "front/net/listen_address.h"

#include <gtest/gtest.h>

namespace sluice::front::net {
namespace {

TEST(ListenAddress, TextFormsRoundTrip) {
  for (const char* text : {"127.0.0.1:8085", "0.0.0.0:0", "[::1]:65535", "[2001:db8::7]:1"}) {
    const auto address = SocketAddress::Parse(text);
    ASSERT_TRUE(address.ok()) << text;
    EXPECT_EQ(address->ToString(), text);
  }
  EXPECT_EQ(SocketAddress::Parse("localhost:80")->ToString(), "127.0.0.1:80");
}

TEST(ListenAddress, WrongFormsAreRefusedWithTheText) {
  for (const char* text : {"", "8085", ":8085", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536",
                           "127.0.0.1:-1", "127.0.0.1:80x", "::1:80", "[::1:80", "example.com:80",
                           "[127.0.0.1]:80", "*:80", "[]:80"}) {
    const auto address = SocketAddress::Parse(text);
    ASSERT_FALSE(address.ok()) << text;
    EXPECT_EQ(address.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(Message(address.status()).find(text), std::string_view::npos);
  }
}

TEST(ListenAddress, OnlyLoopbackIsLoopback) {
  for (const char* text : {"127.0.0.1:1", "127.255.0.9:1", "[::1]:1", "localhost:1"}) {
    EXPECT_TRUE(SocketAddress::Parse(text)->IsLoopback()) << text;
  }
  for (const char* text :
       {"0.0.0.0:1", "128.0.0.1:1", "[::]:1", "[::2]:1", "[::ffff:127.0.0.1]:1"}) {
    EXPECT_FALSE(SocketAddress::Parse(text)->IsLoopback()) << text;
  }
}

TEST(ListenAddress, PortZeroIsReplacedByTheBoundPort) {
  const auto fd = BindAndListen(*SocketAddress::Parse("127.0.0.1:0"));
  ASSERT_TRUE(fd.ok()) << Message(fd.status());
  EXPECT_GT(BoundAddress(fd->get())->Port(), 0);
}

TEST(ListenAddress, PortInUseIsNamed) {
  const auto first = BindAndListen(*SocketAddress::Parse("127.0.0.1:0"));
  ASSERT_TRUE(first.ok());
  const SocketAddress bound = *BoundAddress(first->get());
  const auto second = BindAndListen(bound);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_NE(Message(second.status()).find(bound.ToString()), std::string_view::npos);
}

}  // namespace
}  // namespace sluice::front::net
