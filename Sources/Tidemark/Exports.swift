// Tidemark
// SPDX-License-Identifier: Apache-2.0

// An app that imports Tidemark speaks to handles in the model's nouns, and meets a few types of the log:
// positions, incarnations, store ids and the errors of opening.
@_exported public import TidemarkDatabase
@_exported public import TidemarkLog
@_exported public import TidemarkModel
