/// The texts of the documents of a cluster as a node knows them, and those of them that it has taken over.
struct DocumentTexts {
    typealias Text = (name: String, text: [UInt8])

    /// The newest text of each.
    private(set) var newest: [String: [UInt8]] = [:]
    /// The last text of each that was taken over.
    private(set) var taken: [String: [UInt8]] = [:]

    mutating func learn(_ texts: [Text]) { for (name, text) in texts { newest[name] = text } }

    mutating func take(_ texts: [Text]) { for (name, text) in texts { taken[name] = text } }

    func isTaken(_ name: String) -> Bool { newest[name] == taken[name] }

    /// Those that are not taken over yet. The rules and the settings of a database that both are not stand together:
    /// they are replaced in one step.
    var pending: [[Text]] {
        var rest = newest.filter { taken[$0.key] != $0.value }
        var groups: [[Text]] = []
        for name in rest.keys.sorted() {
            guard let text = rest.removeValue(forKey: name) else { continue }
            var group = [(name, text)]
            if let database = SharedDocument.database(ofRules: name) {
                let settings = SharedDocument.settingsName(database)
                if let text = rest.removeValue(forKey: settings) { group.append((settings, text)) }
            }
            groups.append(group)
        }
        return groups
    }
}
