// SPDX-License-Identifier: Apache-2.0
#include "admin/faults.h"

#include <algorithm>

#include "admin/mixed_random.h"
#include "admin/value_text.h"

namespace sluice::admin {

FaultInjector::FaultInjector(std::uint64_t seed, std::vector<std::string> methods)
    : seed_(seed), methods_(std::move(methods)) {}

void FaultInjector::Before(const front::CallInfo& call, Continue proceed) {
  Handle(FaultRule::When::kBeforeCommit, call, std::move(proceed));
}

void FaultInjector::After(const front::CallInfo& call, const Status& result, Continue finish) {
  if (!result.ok()) {
    finish(Status());
    return;
  }
  Handle(FaultRule::When::kAfterCommit, call, std::move(finish));
}

void FaultInjector::Handle(FaultRule::When when, const front::CallInfo& call, Continue go_on) {
  if (!has_rules_.load(std::memory_order_acquire)) {
    go_on(Status());
    return;
  }
  Verdict verdict = Decide(when, call.method->name);
  Duration wait = verdict.delay + verdict.hold;
  if (wait > absl::ZeroDuration() && timer_.waiting_count() >= kCallsHeldMax) {
    wait = absl::ZeroDuration();
    if (verdict.status.ok()) {
      verdict.status =
          ResourceExhausted("fault injection holds back {} calls already", kCallsHeldMax);
    }
  }
  if (wait == absl::ZeroDuration()) {
    go_on(std::move(verdict.status));
    return;
  }
  timer_.After(wait, [go_on = std::move(go_on), status = std::move(verdict.status)](
                         bool /*is_early*/) mutable { go_on(std::move(status)); });
}

FaultInjector::Verdict FaultInjector::Decide(FaultRule::When when, std::string_view method) {
  Verdict verdict;
  const std::lock_guard lock(mutex_);
  for (ActiveRule& active : rules_) {
    const FaultRule& rule = active.rule;
    if (rule.when != when || (rule.method != "*" && rule.method != method)) continue;
    if (rule.is_spent() || !IsHit(&active)) continue;
    ++active.rule.hits;
    switch (rule.action) {
      case FaultRule::Action::kDelay:
        verdict.delay += rule.duration;
        break;
      case FaultRule::Action::kFail:
        verdict.status = Status(rule.code, rule.message);
        return verdict;
      case FaultRule::Action::kDropReply:
        verdict.hold = rule.duration;
        verdict.status = front::DropCall();
        return verdict;
    }
  }
  return verdict;
}

bool FaultInjector::IsHit(ActiveRule* active) const {
  const std::uint64_t number = Mixed(Mixed(seed_ ^ Mixed(active->rule.id)) + active->draws++);
  return ToUnit(number) < active->rule.probability;
}

StatusOr<FaultRule> FaultInjector::Add(FaultRule rule) {
  const bool is_known = rule.method == "*" || methods_.empty() ||
                        std::find(methods_.begin(), methods_.end(), rule.method) != methods_.end();
  if (!is_known) {
    const std::string_view nearest = Nearest(rule.method, {methods_.begin(), methods_.end()});
    return InvalidArgument("method: \"{}\" is not a method of this server{}", rule.method,
                           nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest));
  }
  const std::lock_guard lock(mutex_);
  if (rules_.size() >= kFaultRulesMax) {
    return ResourceExhausted("there are {} fault rules, the maximum; delete some", kFaultRulesMax);
  }
  rule.id = next_id_++;
  rule.hits = 0;
  rules_.push_back({rule});
  has_rules_.store(true, std::memory_order_release);
  return rule;
}

std::vector<FaultRule> FaultInjector::List() const {
  const std::lock_guard lock(mutex_);
  std::vector<FaultRule> rules;
  for (const ActiveRule& active : rules_) rules.push_back(active.rule);
  return rules;
}

Status FaultInjector::Remove(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(rules_.begin(), rules_.end(),
                                  [&](const ActiveRule& active) { return active.rule.id == id; });
  if (found == rules_.end()) return NotFound("fault rule {} does not exist", id);
  rules_.erase(found);
  has_rules_.store(!rules_.empty(), std::memory_order_release);
  return {};
}

std::size_t FaultInjector::RemoveAll() {
  const std::lock_guard lock(mutex_);
  const std::size_t count = rules_.size();
  rules_.clear();
  has_rules_.store(false, std::memory_order_release);
  return count;
}

void FaultInjector::Stop() {
  RemoveAll();
  timer_.Stop();
}

}  // namespace sluice::admin
