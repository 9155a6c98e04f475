import Tidemark

struct Note: RecordCodable {
    static let recordType = "Note"
    var id = RecordName.unique()
    var text: String
}
