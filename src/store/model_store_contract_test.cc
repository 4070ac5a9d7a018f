// SPDX-License-Identifier: Apache-2.0
// Runs the store contract on the model, all warm and with half of the keys cold.
#include "store/model_store.h"
#include "store/store_contract.h"

namespace sluice::store {
namespace {

class ModelBox final : public StoreBox {
 public:
  explicit ModelBox(double cold_fraction) : store_({.seed = 1, .cold_fraction = cold_fraction}) {}

  Store& store() override { return store_; }
  void CrashAndReopen() override { store_.Crash(); }
  std::string CheckpointDir() override { return ""; }
  StatusOr<std::unique_ptr<Store>> OpenCheckpoint(const std::string& dir) override {
    return Unimplemented("checkpoint {}", dir);
  }

 private:
  ModelStore store_;
};

INSTANTIATE_TEST_SUITE_P(Warm, StoreContract,
                         testing::Values([] { return std::make_unique<ModelBox>(0); }));
INSTANTIATE_TEST_SUITE_P(HalfCold, StoreContract,
                         testing::Values([] { return std::make_unique<ModelBox>(0.5); }));

}  // namespace
}  // namespace sluice::store
