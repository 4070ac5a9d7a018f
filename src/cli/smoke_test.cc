// SPDX-License-Identifier: Apache-2.0
//
// Starts the real binary on ephemeral ports and proves what scripts rely on: the
// ready line, the port file, /healthz, exit codes, signals, and that the data
// is there after a restart.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "cli/admin_client.h"
#include "cli/exit_code.h"

extern char** environ;

namespace sluice::cli {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

/// Long for a loaded machine; a test that needs it is failing.
constexpr int kOutputWaitMs = 60'000;
constexpr std::string_view kReady = "sluice: ready on ";

/// A process of the binary with its output in one pipe.
class Process {
 public:
  explicit Process(std::vector<std::string> arguments, const char* program = SLUICE_BINARY) {
    arguments.insert(arguments.begin(), program);
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    EXPECT_EQ(::posix_spawn(&pid_, program, &actions, nullptr, argv.data(), environ), 0);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    out_ = ends[0];
  }
  ~Process() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    ::close(out_);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// Reads until `text` appears; false when the output ends or time is up.
  bool ReadUntil(std::string_view text) {
    while (output_.find(text) == std::string::npos) {
      if (!ReadSome()) return false;
    }
    return true;
  }
  /// Where it listens. The line is complete once its end was read.
  std::string WaitReady() {
    if (!ReadUntil(kReady)) ADD_FAILURE() << "not ready: " << output_;
    const std::size_t begin = output_.find(kReady) + kReady.size();
    while (output_.find('\n', begin) == std::string::npos && ReadSome()) {
    }
    return output_.substr(begin, output_.find('\n', begin) - begin);
  }
  void Signal(int signal) { ::kill(pid_, signal); }
  /// Reads everything and gives the exit code; -1 for an end by a signal.
  int Wait() {
    while (ReadSome()) {
    }
    int status = 0;
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  [[nodiscard]] const std::string& output() const { return output_; }

 private:
  bool ReadSome() {
    pollfd wait{out_, POLLIN, 0};
    if (::poll(&wait, 1, kOutputWaitMs) != 1) return false;
    char buffer[4096];
    const ssize_t got = ::read(out_, buffer, sizeof buffer);
    if (got <= 0) return false;
    output_.append(buffer, static_cast<std::size_t>(got));
    return true;
  }

  pid_t pid_ = -1;
  int out_ = -1;
  std::string output_;
};

class SmokeTest : public ::testing::Test {
 protected:
  SmokeTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "sluice-smoke-XXXXXX").string();
    dir_ = ::mkdtemp(pattern.data());
  }
  ~SmokeTest() override { std::filesystem::remove_all(dir_); }

  [[nodiscard]] std::string Path(const std::string& name) const { return dir_ + "/" + name; }
  std::vector<std::string> Serve(std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = {"serve", "--listen", "127.0.0.1:0", "--data-dir",
                                          Path("data")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(Path(name)) << text;
  }

  std::string dir_;
};

long StatusOf(const std::string& server, const std::string& path) {
  const StatusOr<RawAnswer> answer = CallAdminRaw({server, path, std::nullopt});
  return answer.ok() ? answer->http_status : 0;
}

constexpr int Code(ExitCode code) { return static_cast<int>(code); }

TEST_F(SmokeTest, ItBecomesReadyAnswersAndStopsOnSigterm) {
  Process run(Serve({"--port-file", Path("port")}));
  const std::string address = run.WaitReady();
  std::ifstream port_file(Path("port"));
  std::string port;
  std::getline(port_file, port);
  EXPECT_EQ(address, "127.0.0.1:" + port);
  EXPECT_EQ(StatusOf(address, "/healthz"), 200);
  EXPECT_EQ(StatusOf(address, "/nothing"), 404);
  EXPECT_EQ(StatusOf(address, "/admin/v1/faults"), 403);
  const auto metrics = CallAdminRaw({address, "/metrics", std::nullopt});
  ASSERT_TRUE(metrics.ok());
  EXPECT_THAT(metrics->body, HasSubstr("sluice_build_info"));
  run.Signal(SIGTERM);
  EXPECT_EQ(run.Wait(), Code(ExitCode::kOk)) << run.output();
}

TEST_F(SmokeTest, TooFewDescriptorsAreWarnedOfWithTheLimitAndTheNeed) {
  std::vector<std::string> arguments = Serve();
  arguments.insert(arguments.begin(), {"-c", R"(ulimit -n 512 && exec "$0" "$@")", SLUICE_BINARY});
  Process run(std::move(arguments), "/bin/sh");
  run.WaitReady();
  EXPECT_THAT(run.output(), HasSubstr("WARN descriptor_limit_low"));
  EXPECT_THAT(run.output(), HasSubstr("limit=512 needed=26024"));
}

TEST_F(SmokeTest, ADataDirectoryInUseIsRefused) {
  Process first(Serve());
  first.WaitReady();
  Process second(Serve());
  EXPECT_EQ(second.Wait(), Code(ExitCode::kDataInUse));
  EXPECT_THAT(second.output(), HasSubstr("is in use"));
  first.Signal(SIGINT);
  EXPECT_EQ(first.Wait(), Code(ExitCode::kOk));
}

TEST_F(SmokeTest, DeclaredQueuesAreCreatedKeptOverAKillAndReloadedOnSighup) {
  Write("c.yaml", "queues:\n  - name: projects/p/locations/l/queues/one\n");
  const std::vector<std::string> arguments = Serve({"--config", Path("c.yaml")});
  {
    Process run(arguments);
    run.WaitReady();
    EXPECT_THAT(run.output(), HasSubstr("1 created"));
    run.Signal(SIGKILL);
    run.Wait();
  }
  Process run(arguments);
  const std::string address = run.WaitReady();
  EXPECT_THAT(run.output(), HasSubstr("0 created, 0 updated, 1 unchanged"));
  Write("c.yaml", "queues:\n  - name: projects/p/locations/l/queues/two\n    state: PAUSED\n");
  run.Signal(SIGHUP);
  ASSERT_TRUE(run.ReadUntil("queues_reloaded")) << run.output();
  const auto metrics = CallAdminRaw({address, "/metrics", std::nullopt});
  ASSERT_TRUE(metrics.ok());
  EXPECT_THAT(metrics->body,
              HasSubstr("sluice_queue_running{queue=\"projects/p/locations/l/queues/two\"} 0"));
  EXPECT_THAT(metrics->body,
              HasSubstr("sluice_queue_running{queue=\"projects/p/locations/l/queues/one\"} 1"));
  Write("c.yaml", "queues: wrong\n");
  run.Signal(SIGHUP);
  ASSERT_TRUE(run.ReadUntil("reload_refused")) << run.output();
  EXPECT_EQ(StatusOf(address, "/healthz"), 200);
  run.Signal(SIGTERM);
  EXPECT_EQ(run.Wait(), Code(ExitCode::kOk));
}

TEST_F(SmokeTest, WrongUsageEndsWithItsOwnCodeAndNamesTheMistake) {
  Write("c.yaml", "data-dir: x\n");
  Process file(Serve({"--config", Path("c.yaml")}));
  EXPECT_EQ(file.Wait(), Code(ExitCode::kUsage));
  EXPECT_THAT(file.output(),
              HasSubstr("c.yaml:1:1: data-dir: unknown key; did you mean data_dir?"));
  Process flag({"serve", "--durability", "maybe"});
  EXPECT_EQ(flag.Wait(), Code(ExitCode::kUsage));
  EXPECT_THAT(flag.output(), HasSubstr("--durability"));
  Process unknown({"serve", "--no-such-flag"});
  EXPECT_EQ(unknown.Wait(), Code(ExitCode::kUsage));
  Process remote({"serve", "--listen", "0.0.0.0:0", "--in-memory"});
  EXPECT_EQ(remote.Wait(), Code(ExitCode::kUsage));
  EXPECT_THAT(remote.output(), HasSubstr("allow_plaintext_remote"));
}

TEST_F(SmokeTest, APortInUseIsAFailureThatNamesIt) {
  Process first({"serve", "--listen", "127.0.0.1:0", "--in-memory"});
  const std::string address = first.WaitReady();
  Process second({"serve", "--listen", address, "--in-memory"});
  EXPECT_EQ(second.Wait(), Code(ExitCode::kFailure));
  EXPECT_THAT(second.output(), HasSubstr(address));
}

TEST_F(SmokeTest, InMemoryLeavesNothingOnDisk) {
  Process run({"serve", "--listen", "127.0.0.1:0", "--in-memory", "--virtual-time",
               "--enable-fault-injection", "--port-file", Path("port")});
  const std::string address = run.WaitReady();
  EXPECT_THAT(run.output(), HasSubstr("nothing survives"));
  EXPECT_EQ(StatusOf(address, "/admin/v1/faults"), 200);
  const auto time = CallAdmin({address, "/admin/v1/time:advance", R"({"by": "10d"})"});
  ASSERT_TRUE(time.ok()) << time.status();
  EXPECT_EQ((*time)["advanced_by"], "10d");
  run.Signal(SIGTERM);
  EXPECT_EQ(run.Wait(), Code(ExitCode::kOk));
  std::filesystem::remove(Path("port"));
  EXPECT_TRUE(std::filesystem::is_empty(dir_));
}

TEST_F(SmokeTest, ABackupTakenWhileItRunsIsADataDirectory) {
  Write("c.yaml", "queues:\n  - name: projects/p/locations/l/queues/one\n");
  Process run(Serve({"--config", Path("c.yaml")}));
  const std::string address = run.WaitReady();
  Process backup({"backup", Path("copy"), "--server", address});
  EXPECT_EQ(backup.Wait(), Code(ExitCode::kOk)) << backup.output();
  Process again({"backup", Path("copy"), "--server", address});
  EXPECT_EQ(again.Wait(), Code(ExitCode::kFailure));
  EXPECT_THAT(again.output(), HasSubstr("exists"));
  Process restored({"serve", "--listen", "127.0.0.1:0", "--data-dir", Path("copy")});
  const auto metrics = CallAdminRaw({restored.WaitReady(), "/metrics", std::nullopt});
  ASSERT_TRUE(metrics.ok());
  EXPECT_THAT(metrics->body, HasSubstr("projects/p/locations/l/queues/one"));
}

TEST_F(SmokeTest, ExplainSaysWhenNoServerAnswersOrTheTaskIsNotThere) {
  Process no_name({"explain", "projects/p"});
  EXPECT_EQ(no_name.Wait(), Code(ExitCode::kUsage));
  Process run({"serve", "--listen", "127.0.0.1:0", "--in-memory"});
  const std::string address = run.WaitReady();
  const std::string task = "projects/p/locations/l/queues/q/tasks/t";
  Process missing({"explain", task, "--server", address});
  EXPECT_EQ(missing.Wait(), Code(ExitCode::kFailure));
  run.Signal(SIGTERM);
  run.Wait();
  Process nobody({"explain", task, "--server", address});
  EXPECT_EQ(nobody.Wait(), Code(ExitCode::kFailure));
  EXPECT_THAT(nobody.output(), HasSubstr("no answer from a server at " + address));
}

TEST_F(SmokeTest, DamagedDataIsRefusedWithWhatIsLostAndHowToGoOn) {
  Write("c.yaml", "queues:\n  - name: projects/p/locations/l/queues/marked\n");
  {
    Process run(Serve({"--config", Path("c.yaml")}));
    run.WaitReady();
    run.Signal(SIGTERM);
    ASSERT_EQ(run.Wait(), Code(ExitCode::kOk));
  }
  bool is_damaged = false;
  for (const auto& entry : std::filesystem::directory_iterator(Path("data/log"))) {
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    std::stringstream content;
    content << file.rdbuf();
    const std::size_t place = content.str().find("queues/marked");
    if (place == std::string::npos) continue;
    file.seekp(static_cast<std::streamoff>(place));
    file.put('X');
    is_damaged = true;
  }
  ASSERT_TRUE(is_damaged);
  Process refused(Serve());
  EXPECT_EQ(refused.Wait(), Code(ExitCode::kDataDamaged)) << refused.output();
  EXPECT_THAT(refused.output(), HasSubstr("damaged"));
  EXPECT_THAT(refused.output(), HasSubstr("--accept-log-loss"));
}

TEST_F(SmokeTest, VersionIsPrinted) {
  Process run({"version"});
  EXPECT_EQ(run.Wait(), Code(ExitCode::kOk));
  EXPECT_THAT(run.output(), HasSubstr("sluice "));
}

}  // namespace
}  // namespace sluice::cli
