// Only pinned downloads: the published modules are read for the descriptors of
// Google's APIs that they carry, never compiled. See proto/README.md.
module sluice.invalid/build-inputs

go 1.19

require (
	cloud.google.com/go/cloudtasks v1.21.1
	cloud.google.com/go/pubsub/v2 v2.9.0
)
