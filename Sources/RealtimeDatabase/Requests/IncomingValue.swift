package import HearthJSONTree

/// A value as a client sent it: canonical, but perhaps with server values still to be resolved.
package struct IncomingValue: Sendable {
    package var json: CanonicalJSON
    package var hasServerValues: Bool
    /// The rows of a large value, if they were made beforehand (``RowPreparation``).
    package var rows: PreparedRows?
    /// The same text, if the log has it already.
    package var stored: StoredText?
    /// The value as it was sent, if server values in it were resolved and the reply may have to be what was sent.
    var sent: CanonicalJSON?

    package init(json: CanonicalJSON, hasServerValues: Bool = false) {
        self.json = json
        self.hasServerValues = hasServerValues
    }
}
