// SPDX-License-Identifier: Apache-2.0
#include "admin/issuer_api.h"

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "admin/server_options.h"
#include "env/posix/clock.h"

namespace sluice::admin {
namespace {

using Json = nlohmann::json;

class KeptAnswer final : public front::net::HttpResponder::Target {
 public:
  void Answer(front::net::HttpResponse answered) override { response = std::move(answered); }
  front::net::HttpResponse response;
};

class IssuerApiTest : public ::testing::Test {
 protected:
  IssuerApiTest() { issuer_.SetIssuer("http://localhost:8085"); }

  front::net::HttpResponse Call(std::string method, std::string path) {
    auto kept = std::make_shared<KeptAnswer>();
    front::net::HttpRequest request;
    request.method = std::move(method);
    request.path = std::move(path);
    api_.Handle(std::move(request), front::net::HttpResponder(kept));
    return kept->response;
  }

  env::SystemClock clock_;
  env::InlineExecutor worker_;
  dispatch::TokenIssuer issuer_{{.keys = dispatch::KeyRing::Open({}).value(), .clock = &clock_}};
  IssuerApi api_{&issuer_, &worker_};
};

TEST_F(IssuerApiTest, OwnsItsTwoPathsAlone) {
  EXPECT_TRUE(IssuerApi::Owns("/.well-known/openid-configuration"));
  EXPECT_TRUE(IssuerApi::Owns("/jwks"));
  EXPECT_FALSE(IssuerApi::Owns("/jwks/"));
  EXPECT_FALSE(IssuerApi::Owns("/"));
}

TEST_F(IssuerApiTest, BothDocumentsMayBeKeptForAnHour) {
  const auto discovery = Call("GET", "/.well-known/openid-configuration");
  EXPECT_EQ(discovery.status, 200);
  EXPECT_EQ(Json::parse(discovery.body)["issuer"], "http://localhost:8085");
  const auto keys = Call("GET", "/jwks");
  EXPECT_EQ(Json::parse(keys.body)["keys"].size(), 1u);
  for (const auto& answer : {discovery, keys}) {
    ASSERT_EQ(answer.headers.size(), 1u);
    EXPECT_EQ(answer.headers[0].value, "public, max-age=3600");
    EXPECT_TRUE(answer.content_type.starts_with("application/json"));
  }
}

TEST_F(IssuerApiTest, OtherMethodsAreRefused) {
  const auto answer = Call("POST", "/jwks");
  EXPECT_EQ(answer.status, 405);
  EXPECT_EQ(answer.headers.at(0).value, "GET");
}

TEST(IssuerUrl, IsWhatIsSetElseTheFirstAddress) {
  ServerOptions options;
  EXPECT_EQ(IssuerUrl(options, 8085), "http://127.0.0.1:8085");
  options.listen = {{"0.0.0.0", 0}};
  EXPECT_EQ(IssuerUrl(options, 4711), "http://localhost:4711");
  options.listen = {{"::1", 0}};
  options.tls_cert = "cert.pem";
  EXPECT_EQ(IssuerUrl(options, 1), "https://[::1]:1");
  options.tokens_issuer = "https://tasks.example";
  EXPECT_EQ(IssuerUrl(options, 1), "https://tasks.example");
}

}  // namespace
}  // namespace sluice::admin
