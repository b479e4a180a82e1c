public import HearthClient

extension LiveList {
    /// Why the items are not kept up to date any more, as a sentence.
    public var problem: String? { error.map { "Not up to date any more: \($0)" } }
}
