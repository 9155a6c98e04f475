// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The version of the project, which a release raises (CONTRIBUTING.md); between releases the next one
/// with `-dev`.
let version = "0.2.0-dev"
