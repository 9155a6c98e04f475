// Tidemark
// SPDX-License-Identifier: Apache-2.0

// Handles take and return the nouns of the model.
@_exported public import TidemarkModel
