// Tidemark
// SPDX-License-Identifier: Apache-2.0

// A program that imports CloudKit gets Apple's names, and by default a store in its own process.
@_exported public import TidemarkCloudKit
