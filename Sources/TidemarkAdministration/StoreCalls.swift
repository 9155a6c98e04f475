// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

/// The calls that stores answer.
public enum StoreCalls {
    /// All of them.
    public static let all: [any StoreCall.Type] = [
        // A server makes its routes from this list: a call that is missing here cannot be sent to
        // it.
        HistoryCall.self, BlameCall.self, AbsenceCall.self, CaseCall.self, PositionCall.self,
        DifferencesCall.self, BisectionCall.self, JournalCall.self, UsageCall.self, UsersCall.self,
        SetUserCall.self, LookUpUsersCall.self, AccountStatusCall.self, SchemaCall.self,
        ImportSchemaCall.self, PromoteSchemaCall.self, ChangeIndexesCall.self, RolesCall.self,
        SetRolesCall.self, SchemaDriftCall.self, RecordCall.self, RecordsCall.self,
        CommitsCall.self, QueryCall.self, ChangesCall.self, ZonesCall.self, CompactionCall.self,
        BackupCall.self, ErasureCall.self, VerificationCall.self, SegmentsCall.self,
        StatisticsCall.self, EventsCall.self, CommitCall.self, ReplayCall.self, StepCall.self,
        AssetsCall.self, AssetBytesCall.self, UploadAssetCall.self, CollectAssetsCall.self,
        MethodCall.self, MakeNotificationsCall.self,
    ]
}
