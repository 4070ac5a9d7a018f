// Only a pinned download: the published module is read for the descriptors of
// Google's Cloud Tasks API that it carries, never compiled. See proto/README.md.
module sluice.invalid/build-inputs

go 1.19

require cloud.google.com/go/cloudtasks v1.21.1
