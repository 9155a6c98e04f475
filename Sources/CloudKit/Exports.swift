// Tidemark
// SPDX-License-Identifier: Apache-2.0

// A program that imports CloudKit has Apple's names, and a store in its own process where nothing
// else is said.
@_exported public import TidemarkCloudKit
