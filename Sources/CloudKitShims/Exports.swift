// Tidemark
// SPDX-License-Identifier: Apache-2.0

// Docs/decisions/0011-opencombine.md says why Combine's names come from there, and only with the
// trait.
#if Shims
@_exported public import OpenCombine
@_exported public import OpenCombineDispatch
@_exported public import OpenCombineFoundation
#endif
